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
}

/** Maximum number of messages. Older messages are removed. */
const maxToasts = 3

const listeners = new Set<() => void>()
let shown: readonly Toast[] = []
let lastId = 0

function set(toasts: readonly Toast[]): void {
  shown = toasts
  for (const listener of listeners) listener()
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
    set([...shown, { id: lastId, text, ...options }].slice(-maxToasts))
  },
  remove: (id: number): void => set(shown.filter((toast) => toast.id !== id)),
}
