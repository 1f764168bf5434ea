import { hash } from 'node:crypto'
import { type BusinessError, fitTextToColumn } from '@plinth/kernel'
import type { MovementDetails, Owner } from '../contract.ts'
import { businessError } from '../declarations.ts'
import type { JournalAction } from '../entities.ts'

export const systemOwner = 'system'

const ownerType = /^[a-z0-9]+(?:-[a-z0-9]+)*$/
const ownerId = /^[!-~]{1,64}$/
const words = /^[a-z0-9]+(?:[:.-][a-z0-9]+)*$/

/**
 * Creates the error for an invalid posting. Lot repositories use it too.
 *
 * @param field name of the invalid field, such as `owner.id`
 * @param rule text that continues the sentence "The field must be ..."
 */
export const postingInvalidError = (field: string, rule: string): BusinessError =>
  businessError('posting-invalid', { params: { field, rule }, data: { field, rule } })

export function throwPostingInvalid(field: string, rule: string): never {
  throw postingInvalidError(field, rule)
}

export function assertAmount(amount: number, field = 'amount'): void {
  if (!Number.isSafeInteger(amount) || amount < 1) throwPostingInvalid(field, 'a whole number from 1 to 2^53 - 1')
}

export function assertOwner({ type, id }: Owner, field = 'owner'): void {
  if (type.length > 32 || !ownerType.test(type))
    throwPostingInvalid(`${field}.type`, '1 to 32 lower-case letters, digits and hyphens')
  if (type === systemOwner)
    throwPostingInvalid(`${field}.type`, 'another one: these accounts are written by the ledger alone')
  if (!ownerId.test(id)) throwPostingInvalid(`${field}.id`, '1 to 64 visible ASCII characters')
}

export function assertCounterAccount(counter: string): void {
  if (counter.length > 64 || !words.test(counter))
    throwPostingInvalid('counter', 'lower-case words, 1 to 64 characters')
}

export interface JournalDraft {
  readonly idemHash: string
  readonly idemKey: string
  readonly fingerprint: string
  readonly action: JournalAction
  readonly kind: string
  readonly refType: string | null
  readonly refId: string | null
  readonly parentId: number | null
  readonly actor: string | null
  readonly reason: string | null
  readonly at: number | undefined
}

/**
 * Validates what all movements have in common, and returns the values of the journal.
 *
 * @param content other values that a repeated call with the same key must send unchanged, such as accounts and amount
 */
export function journalDraft(action: JournalAction, notes: MovementDetails, content: readonly unknown[]): JournalDraft {
  const { key, kind, reference, parentJournalId, actor = null, reason = null, at } = notes
  assertText('key', key, 255)
  if (kind.length > 64 || !words.test(kind))
    throwPostingInvalid('kind', 'lower-case words joined by dots, 1 to 64 characters')
  if (reference !== undefined) {
    assertText('reference.type', reference.type, 64)
    assertText('reference.id', reference.id, 128)
  }
  if (actor !== null) assertText('actor', actor, 128)
  if (reason !== null) assertText('reason', reason, 255)
  if (at !== undefined && !(Number.isSafeInteger(at) && at >= 0))
    throwPostingInvalid('at', 'milliseconds since the epoch')
  const refType = reference?.type ?? null
  const refId = reference?.id ?? null
  return {
    idemHash: hash('sha256', key),
    idemKey: key,
    fingerprint: hash('sha256', JSON.stringify([action, kind, refType, refId, ...content])),
    action,
    kind,
    refType,
    refId,
    actor,
    reason,
    at,
    parentId: parentJournalId ?? null,
  }
}

function assertText(field: string, text: string, longest: number): void {
  // `fitTextToColumn` counts characters like the database column.
  if (text === '' || fitTextToColumn(text, longest) !== text) throwPostingInvalid(field, `1 to ${longest} characters`)
}
