import { count, id, instant, nullable, Type, text } from '@plinth/http'
import type { Static } from 'typebox'
import { never, type SourceRow } from '../entities.ts'

export const sourceStates = ['active', 'exhausted', 'expired', 'reversed'] as const

/** Where points came from: granted = remaining + held + consumed + reversed + expired. */
export const sourceView = Type.Object({
  id,
  accountId: id,
  userId: nullable(id, { description: 'Null where the account belongs to no user.' }),
  asset: text,
  sourceType: text,
  sourceId: text,
  granted: count,
  remaining: count,
  held: count,
  consumed: count,
  reversed: count,
  expired: count,
  expiresAt: nullable(instant, { description: 'Null: never.' }),
  status: Type.Enum(sourceStates),
  journalId: id,
  ruleCode: nullable(text),
  ruleVersion: nullable(Type.Integer({ minimum: 1 })),
  createdAt: instant,
})

export const viewOfSource = ({
  expiresAt,
  userId,
  ruleCode,
  ruleVersion,
  createdAt,
  ...row
}: SourceRow): Static<typeof sourceView> => {
  const { id, accountId, asset, sourceType, sourceId, status, journalId } = row
  const { granted, remaining, held, consumed, reversed, expired } = row
  return {
    id,
    accountId,
    asset,
    sourceType,
    sourceId,
    status,
    journalId,
    granted,
    remaining,
    held,
    consumed,
    reversed,
    expired,
    userId: userId ?? null,
    ruleCode: ruleCode ?? null,
    ruleVersion: ruleVersion ?? null,
    expiresAt: expiresAt === never ? null : new Date(expiresAt).toISOString(),
    createdAt: new Date(createdAt).toISOString(),
  }
}
