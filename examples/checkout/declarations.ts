import { defineBusinessErrors } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

/** Errors of the checkout. An order of another user is reported as unknown. */
export const businessError = defineBusinessErrors('checkout', en.checkout, {
  closed: '409',
  'offer-unknown': '404',
  'order-unknown': '404',
  'order-not-open': '409',
  'amounts-used-up': '409',
  'payer-unsupported': '409',
})
