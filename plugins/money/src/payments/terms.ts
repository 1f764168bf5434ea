import { createHash } from 'node:crypto'
import { type BusinessError, fitTextToColumn } from '@plinth/kernel'
import type { PaymentRefund, PaymentTerms, Settlement } from './contract.ts'
import { businessError } from './declarations.ts'

const visible = (longest: number): Rule => [
  new RegExp(`^[\\x21-\\x7e]{1,${longest}}$`),
  `1 to ${longest} visible ASCII characters`,
]
type Rule = readonly [form: RegExp, said: string]

const forms = {
  outTradeNo: visible(64),
  provider: [/^[a-z0-9][a-z0-9-]{0,31}$/, '1 to 32 lower-case letters, digits and hyphens'],
  scene: visible(64),
  asset: [/^[a-z0-9][a-z0-9:.-]{0,63}$/, '1 to 64 lower-case letters, digits, colons, dots and hyphens'],
  chainName: visible(64),
  tokenContract: visible(128),
  receiver: visible(128),
  payer: visible(128),
  amountRaw: [/^(0|[1-9]\d{0,77})$/, 'a whole number within 256 bits as decimal text'],
  transactionHash: visible(128),
  refundNo: visible(128),
  eventKey: visible(255),
  type: [/^[a-z0-9][a-z0-9-]{0,31}$/, '1 to 32 lower-case letters, digits and hyphens'],
} as const satisfies Readonly<Record<string, Rule>>

export const refundType = 'refund'
/**
 * Types of an unmatched payment and of its repayment. They contain the position of the transfer, because one transaction
 * may contain several of them for one order.
 */
export const unmatchedTypeOf = ({ logOrdinal }: { readonly logOrdinal: number }) => `unmatched-${logOrdinal}`
export const repaymentTypeOf = ({ logOrdinal }: { readonly logOrdinal: number }) => `unmatched-repayment-${logOrdinal}`

const largestRaw = 2n ** 256n - 1n
/** Maximum of an integer column. */
const largestInteger = 2 ** 31 - 1
/** Maximum length of `facts` as JSON, in characters. */
const maxFacts = 16_384
const maxReasonLength = 200

const invalid = (field: string, rule: string): BusinessError =>
  businessError('terms-invalid', { params: { field, rule }, data: { field, rule } })

function assertText(field: keyof typeof forms, value: string | undefined): void {
  const [form, said] = forms[field]
  if (value !== undefined && !form.test(value)) throw invalid(field, said)
}

function assertInteger(field: string, value: number | undefined, from: number, to = Number.MAX_SAFE_INTEGER): void {
  if (value === undefined || (Number.isSafeInteger(value) && value >= from && value <= to)) return
  throw invalid(field, `a whole number from ${from} to ${to}`)
}

/** @throws BusinessError `400` `payment.terms-invalid` */
export function assertTerms(terms: PaymentTerms): void {
  for (const field of ['outTradeNo', 'provider', 'scene', 'asset'] as const) assertText(field, terms[field])
  for (const field of ['chainName', 'tokenContract', 'receiver', 'amountRaw'] as const) assertText(field, terms[field])
  if (terms.amountRaw !== undefined && BigInt(terms.amountRaw) > largestRaw) {
    throw invalid('amountRaw', forms.amountRaw[1])
  }
  assertInteger('amount', terms.amount, 1)
  assertInteger('userId', terms.userId, 1)
  assertInteger('chainId', terms.chainId, 1)
  assertInteger('requiredConfirmations', terms.requiredConfirmations, 1, largestInteger)
}

/** @throws BusinessError `400` `payment.terms-invalid` */
export function assertSettlement(settlement: Settlement): void {
  const { facts, type } = settlement
  for (const field of ['outTradeNo', 'type', 'transactionHash', 'eventKey', 'chainName'] as const) {
    assertText(field, settlement[field])
  }
  if (type === refundType) throw invalid('type', `another one than "${refundType}"`)
  assertInteger('logOrdinal', settlement.logOrdinal, 0, largestInteger)
  if (facts !== undefined && JSON.stringify(facts).length > maxFacts) {
    throw invalid('facts', `at most ${maxFacts} characters of JSON`)
  }
}

/** @throws BusinessError `400` `payment.terms-invalid` */
export function assertTransactionHash(transactionHash: string): void {
  assertText('transactionHash', transactionHash)
}

/** @throws BusinessError `400` `payment.terms-invalid` */
export function assertPayer(payer: string): void {
  assertText('payer', payer)
}

/** @throws BusinessError `400` `payment.terms-invalid` */
export function assertRefund({ outTradeNo, refundNo, amount, reason = '' }: PaymentRefund): void {
  assertText('outTradeNo', outTradeNo)
  assertText('refundNo', refundNo)
  assertInteger('amount', amount, 1)
  if (fitTextToColumn(reason, maxReasonLength) !== reason)
    throw invalid('reason', `at most ${maxReasonLength} characters`)
}

/** Returns a hash of the terms. A second call with the same order number must have the same hash. */
export function fingerprintOfTerms(terms: PaymentTerms): string {
  const { outTradeNo, provider, scene, userId, asset, amount } = terms
  const { chainName, chainId, tokenContract, receiver, amountRaw, requiredConfirmations } = terms
  const members = [
    outTradeNo,
    provider,
    scene,
    userId,
    asset,
    amount,
    chainName,
    chainId,
    tokenContract,
    receiver,
    amountRaw,
    requiredConfirmations,
  ]
  return createHash('sha256')
    .update(JSON.stringify(members.map((member) => member ?? null)))
    .digest('hex')
}
