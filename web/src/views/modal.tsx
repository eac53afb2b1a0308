// A dialog over the page. The browser keeps the keyboard in it; afterwards it is where it was.
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { Close } from "./icons";

export function Modal({ title, onClose, children }: { title: string; onClose: () => void; children: ComponentChildren }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const name = useId();
  useEffect(() => {
    const element = dialog.current;
    const before = document.activeElement;
    if (element && !element.open) element.showModal();
    return () => {
      element?.close();
      // Nothing behind a dialog takes the keyboard as long as it is drawn.
      requestAnimationFrame(() => {
        if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true });
      });
    };
  }, []);
  return (
    <dialog ref={dialog} class="modal" aria-labelledby={name}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onKeyDown={(event) => event.stopPropagation()}
      onMouseDown={(event) => {
        if (event.target === dialog.current) onClose();
      }}>
      <div class="modal-body">
        <h2 id={name}>{title}</h2>
        {children}
        {/* Last, so that the keyboard begins with what the dialog is for. */}
        <button type="button" class="quiet icon-only modal-close" aria-label="Close" onClick={onClose}><Close /></button>
      </div>
    </dialog>
  );
}
