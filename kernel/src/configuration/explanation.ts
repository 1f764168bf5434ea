import type { JsonValue } from '@plinth/config-schema'
import type { SourceName } from '@plinth/config-schema/reading'
import type { Problem } from '../errors/kernel-errors.ts'

/** A value of a key and the source that sets it. */
export interface SourcedValue {
  readonly source: SourceName
  readonly place: string
  /** Written form, for example `5m`. A secret is masked. */
  readonly value: JsonValue | undefined
  /** Only for a secret that is not used: the keys of its destination that have changed since it was entered. */
  readonly withheld?: readonly string[]
}

/** A secret that is not used, because it was entered for another destination. */
export interface WithheldSecret {
  readonly key: string
  readonly source: SourceName
  readonly place: string
  /** Keys of its destination that have changed since it was entered. */
  readonly destination: readonly string[]
}

/** All information about the value of a key. */
export interface ConfigExplanation {
  readonly key: string
  readonly plugin: string
  /** The value that applies now. */
  readonly effective: SourcedValue
  /** All sources that set the key, in order of increasing precedence. */
  readonly sources: readonly SourcedValue[]
  /** True if a newer value applies only after a restart of this process. */
  readonly pendingRestart: boolean
  /** Reason why the plugin rejected the newest live value, so that an older value is still effective. */
  readonly refused: string | undefined
  /** True in production if the effective value is unsafe. See `KeyDeclaration.insecure`. */
  readonly isInsecure: boolean
}

/** The changes that a new set of database values would cause. */
export interface ApplyPreview {
  /** Keys whose new value applies immediately, unless their plugin rejects it. */
  readonly changed: readonly string[]
  readonly pendingRestart: readonly string[]
  /** Keys whose database value has no effect, because a source with higher precedence also sets them. */
  readonly shadowed: readonly string[]
  /** Secrets that would not be used, because their destination would change. */
  readonly withheld: readonly WithheldSecret[]
  readonly problems: readonly Problem[]
  /** Plugins of the keys in `changed` and `pendingRestart`. */
  readonly plugins: readonly string[]
}

/** The changes that a new set of database values caused. */
export interface ApplyReport extends Omit<ApplyPreview, 'plugins'> {
  readonly refused: readonly { readonly key: string; readonly reason: string }[]
}

/** The result of the check of a new value by its plugin. `unverified`: the plugin has no check. */
export interface VerifyResult {
  readonly outcome: 'verified' | 'unverified' | 'refused'
  readonly reason?: string
}
