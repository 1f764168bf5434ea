import type { JsonValue } from '@plinth/config-schema'
import type { SourceName } from '@plinth/config-schema/reading'
import type { Problem } from '../errors/kernel-errors.ts'

/** A value of a key together with where it stands. */
export interface SourcedValue {
  readonly source: SourceName
  readonly place: string
  /** Written form; the mask for a sensitive key. */
  readonly value: JsonValue | undefined
  /** Of a secret that does not apply: the keys of its destination that have another value, or come from another source. */
  readonly withheld?: readonly string[]
}

/** A secret that does not apply because it was entered for another destination. */
export interface WithheldSecret {
  readonly key: string
  readonly source: SourceName
  readonly place: string
  /** Keys of its destination that have another value, or come from another source. */
  readonly destination: readonly string[]
}

/** Everything about one key's value. */
export interface Explanation {
  readonly key: string
  readonly plugin: string
  /** In force now. */
  readonly effective: SourcedValue
  /** All sources that give a value, weakest first. */
  readonly sources: readonly SourcedValue[]
  /** A newer value waits for a restart of this process. */
  readonly pendingRestart: boolean
  /** Why the owner refused the newest live value; the effective one is older then. */
  readonly refused: string | undefined
  /** True in production while the effective value is not safe there. See `KeyDeclaration.insecure`. */
  readonly isInsecure: boolean
}

/** The changes that a set of database values would make. */
export interface ApplyPreview {
  /** Keys that take the new value at once, unless their owner refuses it. */
  readonly changed: readonly string[]
  readonly pendingRestart: readonly string[]
  /** Keys whose database value does not count because a stronger source gives one. */
  readonly shadowed: readonly string[]
  /** Secrets of any source that would not apply, because of their destination. */
  readonly withheld: readonly WithheldSecret[]
  readonly problems: readonly Problem[]
  /** Owners of the keys in `changed` and `pendingRestart`. */
  readonly plugins: readonly string[]
}

/** The changes that a new set of database values made. */
export interface ApplyReport extends Omit<ApplyPreview, 'plugins'> {
  readonly refused: readonly { readonly key: string; readonly reason: string }[]
}

/** The result of the owner's check of a new value; `unverified` when the owner has no check. */
export interface VerifyResult {
  readonly outcome: 'verified' | 'unverified' | 'refused'
  readonly reason?: string
}
