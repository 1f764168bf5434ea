import { webhookEventType } from '@plinth/events'
import { nullable, Type, text } from '@plinth/http'
import { bilingual } from '@plinth/kernel'
import { settlementSucceeded } from './contract.ts'
import { permissionCodes } from './declarations.ts'

/** Settlements that other programs can receive. */
export const webhookEvents = {
  'settlement.settled': webhookEventType({
    event: settlementSucceeded,
    title: bilingual('Payment on a chain settled', '链上支付已结算'),
    permission: permissionCodes.reviewView,
    schema: Type.Object({
      outTradeNo: text,
      chainName: nullable(text),
      transactionHash: nullable(text),
      eventKey: text,
      reviewLogId: Type.Integer(),
    }),
    dataOf: ({ outTradeNo, chainName, transactionHash, eventKey, reviewLogId }) => ({
      outTradeNo,
      chainName,
      transactionHash,
      eventKey,
      reviewLogId,
    }),
    ownerOf: ({ userId }) => ({ userId }),
  }),
}
