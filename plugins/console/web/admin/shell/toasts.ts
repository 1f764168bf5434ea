/** Button of a message. */
export interface ToastButton {
  readonly label: string
  run(): void
}

/** A message that confirms an action of the user, or reports that it failed. */
export interface Toast {
  readonly id: number
  readonly text: string
  readonly isFailure?: boolean
  readonly button?: ToastButton | undefined
  /** True while the pointer is above the message, or the focus is in it. Such a message is not removed automatically. */
  readonly isHeld?: boolean
}

/** Maximum number of messages. */
const maxToasts = 3

const listeners = new Set<() => void>()
let shown: readonly Toast[] = []
let lastId = 0

function set(toasts: readonly Toast[]): void {
  shown = toasts
  for (const listener of listeners) listener()
}

/** Returns the messages without the surplus: the oldest ones, and first those without a button. */
function trimmed(all: readonly Toast[]): readonly Toast[] {
  const removable = all.slice(0, -1).filter(({ isHeld }) => !isHeld)
  const surplus = removable
    .toSorted((a, b) => Number(a.button !== undefined) - Number(b.button !== undefined))
    .slice(0, Math.max(0, all.length - maxToasts))
  return all.filter((toast) => !surplus.includes(toast))
}

/** The messages that the page shows, the newest last. */
export const toasts = {
  current: () => shown,
  subscribe(listener: () => void): () => void {
    listeners.add(listener)
    return () => listeners.delete(listener)
  },
  show(text: string, options: Pick<Toast, 'isFailure' | 'button'> = {}): void {
    lastId += 1
    set(trimmed([...shown, { id: lastId, text, ...options }]))
  },
  hold: (id: number, isHeld: boolean): void =>
    set(shown.map((toast) => (toast.id === id ? { ...toast, isHeld } : toast))),
  remove: (id: number): void => set(shown.filter((toast) => toast.id !== id)),
}
