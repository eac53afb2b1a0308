// When a decision counts. A card that has just come into the place of another must first be seen:
// a key or button pressed at that moment was meant for the card before.

/** How many milliseconds a card must have stood where it stands before it can be decided. */
export const DECISION_LOCK_MS = 700;

/** Since when each card stands where it stands, showing what it shows. */
export class DecisionLock {
  private places = new Map<string, { key: string; at: number }>();
  private selected: { id: string | null; at: number } = { id: null, at: 0 };

  /** Cards are about to be drawn: each with what it shows and where. One that shows something else
   *  or stands elsewhere than before cannot be decided until that was seen. */
  placed(cards: readonly { id: string; key: string }[]): void {
    const places = new Map<string, { key: string; at: number }>();
    for (const { id, key } of cards) {
      const before = this.places.get(id);
      places.set(id, before?.key === key ? before : { key, at: Infinity });
    }
    this.places = places;
  }

  /** The cards as they were placed last were painted. */
  painted(now: number): void {
    for (const place of this.places.values()) if (place.at === Infinity) place.at = now;
  }

  /** A card became the one that keys are for; `wished` if a person chose it. */
  select(id: string | null, wished: boolean, now: number): void {
    if (id !== this.selected.id) this.selected = { id, at: wished ? -Infinity : now };
  }

  /** How long it still takes until this card may be decided; 0 if it may. */
  left(id: string, now: number): number {
    const place = this.places.get(id);
    if (!place) return DECISION_LOCK_MS;
    let since = place.at;
    if (this.selected.id === id) since = Math.max(since, this.selected.at);
    return since === Infinity ? DECISION_LOCK_MS : Math.max(0, since + DECISION_LOCK_MS - now);
  }
}
