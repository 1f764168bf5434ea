import { BusinessError } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }

const codes = {
  'send-log-not-found': '404',
  'send-log-not-failed': '409',
  'send-log-not-restorable': '409',
} as const satisfies Partial<Record<keyof typeof en.notification, string>>

/** Why rows of the send log cannot be sent again, with the stable reason `notification.<name>` and the ids it holds for. */
export function refusal(name: keyof typeof codes, ids: readonly number[]): BusinessError {
  const params = { ids: ids.join(', ') }
  const text = en.notification[name].replace('{{ids}}', params.ids)
  return new BusinessError(codes[name], text, { reason: `notification.${name}`, params, data: { ids } })
}
