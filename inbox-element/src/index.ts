import { PlinthInbox } from './element.ts'

export { InboxError } from './api.ts'
export { PlinthInbox } from './element.ts'
export type { OwnTexts, Texts } from './texts.ts'
export type { Attachment, GetToken, InboxItem, OpenDetail, UnreadCount } from './types.ts'

/**
 * Defines the element. Does nothing on a server, and if the name is already defined. The import of this module defines
 * `plinth-inbox`.
 */
export function defineInbox(name = 'plinth-inbox'): void {
  const registry = globalThis.customElements as CustomElementRegistry | undefined
  if (registry === undefined || registry.get(name) !== undefined) return
  // A class can have only one name.
  registry.define(name, name === 'plinth-inbox' ? PlinthInbox : class extends PlinthInbox {})
}

defineInbox()

declare global {
  interface HTMLElementTagNameMap {
    'plinth-inbox': PlinthInbox
  }
}
