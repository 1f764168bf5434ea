import { webhookEventType } from '@plinth/events'
import { Type, text } from '@plinth/http'
import { bilingual } from '@plinth/kernel'
import { movementKinds, pointsMoved } from './contract.ts'
import { viewLedger } from './declarations.ts'

/** Movements of points that other programs can receive. */
export const webhookEvents = {
  'points.moved': webhookEventType({
    event: pointsMoved,
    title: bilingual('Points moved', '积分变动'),
    permission: viewLedger.code,
    schema: Type.Object({
      userId: Type.Optional(Type.Integer()),
      accountId: Type.Integer(),
      asset: text,
      kind: Type.Enum(movementKinds),
      amount: Type.Integer({ description: 'Minor units of the asset.' }),
      journalId: Type.Integer(),
    }),
    dataOf: (moved) => moved,
    ownerOf: ({ userId }) => ({ userId }),
  }),
}
