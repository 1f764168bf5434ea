import type { LocalizedText } from '@plinth/config-schema'

/** A permission that roles can be given. */
export interface PermissionDeclaration {
  /** Colon-separated code, for example `rate-limit:view`. */
  readonly code: string
  readonly displayName: LocalizedText
  readonly description?: LocalizedText
}
