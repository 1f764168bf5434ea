import { count, id, instant, nullable, Type } from '@plinth/http'
import type { Static } from 'typebox'
import type { Offer } from './entities.ts'
import type { SaleWithPayment } from './sales.ts'

const price = Type.Integer({ minimum: 0, description: 'Hundredths.' })

export const offerView = Type.Object({ id, code: Type.String(), name: Type.String(), price })

export const viewOfOffer = ({ id, code, name, price }: Offer) => ({ id, code, name, price })

export const saleView = Type.Object({
  orderNo: Type.String(),
  offer: offerView,
  price,
  status: Type.Enum(['pending', 'success', 'refunded', 'closed'], { description: 'Of the payment.' }),
  pay: Type.Object(
    {
      chainName: Type.String(),
      chainId: Type.Integer({ minimum: 1 }),
      tokenContract: Type.String(),
      receiver: Type.String(),
      amountRaw: Type.String({ description: 'Units of the token, exactly.' }),
      requiredConfirmations: count,
      payer: nullable(Type.String({ description: 'Proven address that has to send it; null: any address.' })),
    },
    { description: 'One transfer of this token, of this amount, to this receiver.' },
  ),
  transactionHash: nullable(Type.String()),
  createdAt: instant,
  expiresAt: nullable(instant, {
    description: 'When the order is closed if it names no transaction; null: it names one, or it has ended.',
  }),
  deliveredAt: nullable(instant),
})

export const viewOfSale = ({ sale, offer, payment, expiresAt }: SaleWithPayment): Static<typeof saleView> => ({
  orderNo: sale.orderNo,
  offer: viewOfOffer(offer),
  price: payment.amount,
  status: payment.status,
  pay: {
    chainName: payment.chainName ?? '',
    chainId: payment.chainId ?? 1,
    tokenContract: payment.tokenContract ?? '',
    receiver: payment.receiver ?? '',
    amountRaw: payment.amountRaw ?? '0',
    requiredConfirmations: payment.requiredConfirmations ?? 1,
    payer: payment.payer,
  },
  transactionHash: payment.transactionHash,
  createdAt: sale.createdAt.toISOString(),
  expiresAt: expiresAt === null ? null : new Date(expiresAt).toISOString(),
  deliveredAt: sale.deliveredAt?.toISOString() ?? null,
})

export const progressView = Type.Object({
  state: Type.Enum(['waiting', 'unreachable', 'confirming', 'confirmed', 'failed', 'closed']),
  confirmations: nullable(count),
  requiredConfirmations: count,
  reasons: Type.Optional(
    Type.Array(Type.String(), {
      description: 'Codes of the settlement that stand against it; absent while nothing does.',
    }),
  ),
})
