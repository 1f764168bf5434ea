import type { JsonValue } from '@plinth/config-schema'
import type { SourceName } from '@plinth/config-schema/reading'
import type { Problem } from '../errors/kernel-errors.ts'

/** A value of a key with its source. */
export interface SourcedValue {
  readonly source: SourceName
  readonly place: string
  /** Written form; the mask for a sensitive key. */
  readonly value: JsonValue | undefined
  /** For a secret that does not apply: the keys of its destination that have another value or source. */
  readonly withheld?: readonly string[]
}

/** A secret that does not apply because it was entered for another destination. */
export interface WithheldSecret {
  readonly key: string
  readonly source: SourceName
  readonly place: string
  /** Keys of its destination that have another value or source. */
  readonly destination: readonly string[]
}

/** All information about the value of a key. */
export interface Explanation {
  readonly key: string
  readonly plugin: string
  /** The value that applies now. */
  readonly effective: SourcedValue
  /** All sources with a value, lowest precedence first. */
  readonly sources: readonly SourcedValue[]
  /** True if a newer value needs a restart of this process. */
  readonly pendingRestart: boolean
  /** Reason why the owner rejected the newest live value; the effective value is then older. */
  readonly refused: string | undefined
  /** True in production if the effective value is not safe. See `KeyDeclaration.insecure`. */
  readonly isInsecure: boolean
}

/** The changes that a set of database values would make. */
export interface ApplyPreview {
  /** Keys that get the new value immediately, unless their owner rejects it. */
  readonly changed: readonly string[]
  readonly pendingRestart: readonly string[]
  /** Keys whose database value has no effect because a source with higher precedence has a value. */
  readonly shadowed: readonly string[]
  /** Secrets of any source that would not apply because of their destination. */
  readonly withheld: readonly WithheldSecret[]
  readonly problems: readonly Problem[]
  /** Owners of the keys in `changed` and `pendingRestart`. */
  readonly plugins: readonly string[]
}

/** The changes that a new set of database values made. */
export interface ApplyReport extends Omit<ApplyPreview, 'plugins'> {
  readonly refused: readonly { readonly key: string; readonly reason: string }[]
}

/** The result of the owner's check of a new value; `unverified` if the owner has no check. */
export interface VerifyResult {
  readonly outcome: 'verified' | 'unverified' | 'refused'
  readonly reason?: string
}
