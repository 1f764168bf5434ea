import { id, line, listPage, listQuery, listResponse, newestFirst, routesWith, Type } from '@plinth/http'
import { requirePrincipal } from '@plinth/iam'
import { idempotent } from '@plinth/idempotency'
import type { Checkout } from './contract.ts'
import { offerView, progressView, saleView, viewOfOffer, viewOfSale } from './views.ts'

const root = '/api/v1/checkout'
const params = Type.Object({ orderNo: line(64, { minLength: 1 }) })
const transactionHash = Type.String({
  pattern: '^0x[0-9a-fA-F]{64}$',
  description: 'What was paid by. It is looked for on the chain; by itself it proves nothing.',
})

const { route } = routesWith<Checkout>()

/** Routes for customers. Each customer sees only their own orders. */
export const routes = [
  route({
    method: 'GET',
    path: `${root}/offers`,
    summary: 'Offers, the newest first',
    access: 'user',
    request: { query: listQuery },
    response: listPage(offerView),
    reasons: [],
    handler: ({ query }, { sales }) =>
      listResponse(query, newestFirst, async (window) => {
        const found = await sales.offers(window)
        return { ...found, items: found.items.map(viewOfOffer) }
      }),
  }),
  route({
    method: 'POST',
    path: `${root}/orders`,
    summary: 'Order an offer; the answer says what to pay, in which token, on which chain and to whom',
    access: 'user',
    annotations: [idempotent],
    request: { body: Type.Object({ offerId: id }) },
    response: saleView,
    reasons: [
      'checkout.amounts-used-up',
      'checkout.closed',
      'checkout.offer-unknown',
      'payment.terms-invalid',
      'web3.chain-unknown',
    ],
    async handler(request, { sales }) {
      const { userId } = requirePrincipal(request)
      return viewOfSale(await sales.get(userId, await sales.create(userId, request.body.offerId)))
    },
  }),
  route({
    method: 'GET',
    path: `${root}/orders`,
    summary: 'List your orders, newest first',
    access: 'user',
    request: { query: listQuery },
    response: listPage(saleView),
    reasons: [],
    handler(request, { sales }) {
      const { userId } = requirePrincipal(request)
      return listResponse(request.query, newestFirst, async (window) => {
        const found = await sales.list(userId, window)
        return { ...found, items: found.items.map(viewOfSale) }
      })
    },
  }),
  route({
    method: 'GET',
    path: `${root}/orders/:orderNo`,
    summary: 'Get one of your orders',
    access: 'user',
    request: { params },
    response: saleView,
    reasons: ['checkout.order-unknown'],
    handler: async (request, { sales }) =>
      viewOfSale(await sales.get(requirePrincipal(request).userId, request.params.orderNo)),
  }),
  route({
    method: 'PUT',
    path: `${root}/orders/:orderNo/transaction`,
    summary: 'Say by which transaction an own order was paid',
    access: 'user',
    request: { params, body: Type.Object({ transactionHash }) },
    response: saleView,
    reasons: ['checkout.order-unknown', 'payment.order-not-pending'],
    handler: async (request, { sales }) =>
      viewOfSale(
        await sales.announce(
          requirePrincipal(request).userId,
          request.params.orderNo,
          request.body.transactionHash.toLowerCase(),
        ),
      ),
  }),
  route({
    method: 'GET',
    path: `${root}/orders/:orderNo/payer-message`,
    summary: 'The text whose signature proves from which address an own order is paid',
    access: 'user',
    request: { params },
    response: Type.Object({ message: Type.String() }),
    reasons: ['checkout.order-unknown', 'checkout.payer-unsupported'],
    handler: async (request, { sales }) => ({
      message: await sales.payerMessage(requirePrincipal(request).userId, request.params.orderNo),
    }),
  }),
  route({
    method: 'PUT',
    path: `${root}/orders/:orderNo/payer`,
    summary: 'Say from which address an own order is paid, and prove it',
    description: 'An address that is bound to the own account needs no signature.',
    access: 'user',
    request: {
      params,
      body: Type.Object({ address: line(42, { minLength: 42 }), signature: Type.Optional(line(200)) }),
    },
    response: saleView,
    reasons: [
      'checkout.order-unknown',
      'checkout.payer-unsupported',
      'payment.order-not-pending',
      'payment.payer-differs',
      'web3-settlement.payer-invalid',
      'web3-settlement.payer-not-proven',
    ],
    handler: async (request, { sales }) =>
      viewOfSale(await sales.provePayer(requirePrincipal(request).userId, request.params.orderNo, request.body)),
  }),
  route({
    method: 'GET',
    path: `${root}/orders/:orderNo/progress`,
    summary: 'How far the payment of an own order is on its chain',
    access: 'user',
    request: { params },
    response: progressView,
    reasons: ['checkout.order-unknown'],
    async handler(request, { sales }) {
      const { reasons, ...progress } = await sales.progress(requirePrincipal(request).userId, request.params.orderNo)
      return { ...progress, ...(reasons.length === 0 ? {} : { reasons: [...reasons] }) }
    },
  }),
]
