import { Store } from '../../app/store.ts'

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

/** Returns the messages without the surplus: the oldest ones, and first those without a button. */
function trimmed(all: readonly Toast[]): readonly Toast[] {
  const removable = all.slice(0, -1).filter(({ isHeld }) => !isHeld)
  const surplus = removable
    .toSorted((a, b) => Number(a.button !== undefined) - Number(b.button !== undefined))
    .slice(0, Math.max(0, all.length - maxToasts))
  return all.filter((toast) => !surplus.includes(toast))
}

/** The messages that the page shows, the newest last. */
class Toasts extends Store<readonly Toast[]> {
  #lastId = 0

  show(text: string, options: Pick<Toast, 'isFailure' | 'button'> = {}): void {
    this.#lastId += 1
    this.set(trimmed([...this.current(), { id: this.#lastId, text, ...options }]))
  }

  hold(id: number, isHeld: boolean): void {
    this.set(this.current().map((toast) => (toast.id === id ? { ...toast, isHeld } : toast)))
  }

  remove(id: number): void {
    this.set(this.current().filter((toast) => toast.id !== id))
  }
}

export const toasts = new Toasts([])
