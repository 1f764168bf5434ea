import type { DeclaredScope, OpenScope, OpenScopes } from './contract.ts'
import { openPlatformError } from './declarations.ts'

const wellFormed = /^[a-z][a-z0-9-]*(?::[a-z0-9-]+)+$/
const maxCodeLength = 128

/** The scopes that the loaded plugins declare. */
export class ScopeRegistry implements OpenScopes {
  readonly #scopes = new Map<string, DeclaredScope>()

  get all(): readonly DeclaredScope[] {
    return [...this.#scopes.values()].sort((a, b) => (a.code < b.code ? -1 : 1))
  }

  has(code: string): boolean {
    return this.#scopes.has(code)
  }

  declare(plugin: string, scope: OpenScope): void {
    const { code } = scope
    const other = this.#scopes.get(code)
    const reason =
      !wellFormed.test(code) || code.length > maxCodeLength
        ? 'the code is malformed'
        : other && `plugin "${other.plugin}" has declared it`
    if (reason !== undefined) throw openPlatformError('PLINTH_OPEN_PLATFORM_SCOPE', { scope: code, plugin, reason })
    this.#scopes.set(code, { ...scope, plugin })
  }
}
