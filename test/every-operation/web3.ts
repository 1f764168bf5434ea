import { assertSuccess } from './clients.ts'
import type { Scene } from './scene.ts'

export async function callChains({ admin }: Scene): Promise<void> {
  const chain = { name: 'local', chainId: 31337, providers: [{ id: 'node', url: 'https://node.example.org/' }] }
  const { id } = await assertSuccess(admin.POST('/api/v1/admin/web3/chains', { body: chain }))
  const params = { path: { id } }
  await assertSuccess(admin.GET('/api/v1/admin/web3/chains'))
  await assertSuccess(admin.GET('/api/v1/admin/web3/chains/{id}', { params }))
  await assertSuccess(admin.PUT('/api/v1/admin/web3/chains/{id}', { params, body: { requiredConfirmations: 3 } }))
  await assertSuccess(admin.POST('/api/v1/admin/web3/chains/{id}/verify', { params }))
}

/** Calls the operations for reviews and audits of a payment order. */
export async function callSettlement({ admin, mark, idOf }: Scene): Promise<void> {
  const order = { outTradeNo: mark }
  await assertSuccess(admin.POST('/api/v1/admin/web3/payment-confirmations', { body: order }))
  await assertSuccess(admin.POST('/api/v1/admin/web3/payment-confirmations/batch', { body: { items: [order] } }))
  await assertSuccess(admin.POST('/api/v1/admin/web3/payment-confirmations/settled-audits', { body: {} }))

  const audit = idOf('Web3SettlementAuditLog')
  const ids = [audit]
  const params = { path: { id: audit } }
  const audits = '/api/v1/admin/web3/payment-settlement-audit-logs'
  await assertSuccess(admin.GET(audits))
  await assertSuccess(admin.GET(`${audits}/{id}`, { params }))
  await assertSuccess(admin.GET(`${audits}/summary`))
  await assertSuccess(admin.GET(`${audits}/compensation-metadata`))
  await assertSuccess(admin.GET(`${audits}/compensation-candidates`))
  await assertSuccess(admin.POST(`${audits}/{id}/compensation-plan`, { params, body: {} }))
  await assertSuccess(admin.POST(`${audits}/compensation-plan-batch`, { body: { ids } }))
  await assertSuccess(admin.POST(`${audits}/{id}/recheck`, { params }))
  await assertSuccess(admin.POST(`${audits}/recheck-batch`, { body: { ids } }))
  await assertSuccess(admin.PUT(`${audits}/status-batch`, { body: { ids, status: 'resolved' } }))

  const reviews = '/api/v1/admin/web3/payment-settlement-review-logs'
  const review = { params: { path: { id: idOf('Web3SettlementReviewLog') } } }
  await assertSuccess(admin.GET(reviews))
  await assertSuccess(admin.GET(`${reviews}/{id}`, review))
  await assertSuccess(admin.GET(`${reviews}/{id}/attempts`, review))
  await assertSuccess(admin.POST(reviews, { body: { ...order, action: 'record' } }))
  await assertSuccess(admin.POST(`${reviews}/auto-handle-expired`))
  await assertSuccess(admin.POST(`${reviews}/retry-batch`, { body: { ids: [review.params.path.id] } }))

  const unmatched = '/api/v1/admin/web3/unmatched-payments'
  const payment = { params: { path: { id: idOf('Web3UnmatchedPayment') } } }
  await assertSuccess(admin.GET(unmatched))
  await assertSuccess(admin.GET(`${unmatched}/{id}`, payment))
  await assertSuccess(admin.POST(`${unmatched}/{id}/credit/preview`, payment))
  const repayment = { ...payment, body: { transactionHash: `0x${'ab'.repeat(32)}` } }
  await assertSuccess(admin.POST(`${unmatched}/{id}/repayment/preview`, repayment))
}
