import { BusinessError } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

/** Every business failure of this plugin with its envelope code (decision B1); the texts are in messages/. */
const codes = { 'event-unknown': '404', 'event-finished': '409' } as const satisfies Record<
  keyof typeof en.events,
  string
>

/** A business failure with the stable reason `events.<name>`. */
export const refusal = (reason: keyof typeof codes) =>
  new BusinessError(codes[reason], en.events[reason], { reason: `events.${reason}` })
