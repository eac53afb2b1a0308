// Whether an element is visible. The stream of an invisible terminal is closed.
import { useEffect, useState } from "preact/hooks";

/** A moment of grace, so that scrolling past or switching tabs for a second changes nothing. */
const GRACE = 1500;

export function useVisible(ref: { readonly current: Element | null }): boolean {
  const [visible, set] = useState(false);
  useEffect(() => {
    const element = ref.current;
    if (!element) return;
    let near = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const judge = () => {
      clearTimeout(timer);
      if (near && !document.hidden) set(true);
      else timer = setTimeout(() => set(false), GRACE);
    };
    const observer = new IntersectionObserver((entries) => {
      near = entries.at(-1)?.isIntersecting ?? false;
      judge();
    }, { rootMargin: "100px" });
    observer.observe(element);
    document.addEventListener("visibilitychange", judge);
    return () => {
      clearTimeout(timer);
      observer.disconnect();
      document.removeEventListener("visibilitychange", judge);
    };
  }, []);
  return visible;
}

/** Whether the page is shown. A terminal that is typed into stays connected also where it is
 *  scrolled out of view, or pushed out by what appears above it. */
export function useShown(): boolean {
  const [shown, set] = useState(!document.hidden);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const judge = () => {
      clearTimeout(timer);
      if (!document.hidden) set(true);
      else timer = setTimeout(() => set(false), GRACE);
    };
    judge();
    document.addEventListener("visibilitychange", judge);
    return () => {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", judge);
    };
  }, []);
  return shown;
}

/** At most so many small terminals live at once; the rest wait for their turn. */
const MOST = 16;
let living = 0;
const waitingFor = new Set<() => void>();

/** A place among the small terminals, while it is wanted. */
export function usePlace(wanted: boolean): boolean {
  const [has, set] = useState(false);
  useEffect(() => {
    if (!wanted) return;
    let mine = false;
    const tryIt = () => {
      if (living >= MOST) return;
      living += 1;
      mine = true;
      waitingFor.delete(tryIt);
      set(true);
    };
    waitingFor.add(tryIt);
    tryIt();
    return () => {
      waitingFor.delete(tryIt);
      set(false);
      if (!mine) return;
      living -= 1;
      waitingFor.values().next().value?.();
    };
  }, [wanted]);
  return has;
}
