import { purgeKeys } from '@plinth/coordination'
import { key } from '@plinth/kernel'

export const keys = {
  'platform.digest.auto-startup': key.boolean({
    title: { en: 'Send digests in this process', 'zh-CN': '本进程发送摘要' },
    description: {
      en: 'Applies to processes with the role worker. Digests wait until at least one worker sends.',
      'zh-CN': '仅对 worker 角色的进程生效。至少须有一个 worker 发送，否则摘要会一直等待。',
    },
    default: true,
  }),
  'platform.digest.poll-interval': key.duration({
    title: { en: 'Poll interval of digests', 'zh-CN': '摘要轮询间隔' },
    description: {
      en: 'Without due digests the interval grows to 5 s.',
      'zh-CN': '没有到期摘要时，间隔会逐渐增至 5 秒。',
    },
    default: '1s',
    minimum: '10ms',
    maximum: '1h',
    reload: 'live',
  }),
  'platform.digest.retention': key.duration({
    title: { en: 'Retention of sent digests', 'zh-CN': '已发送摘要保留时间' },
    description: {
      en: 'Until then, an item with the same key is not collected again.',
      'zh-CN': '在此之前，相同键的项目不会再次收集。',
    },
    default: '30d',
    minimum: '2d',
    reload: 'live',
  }),
  ...purgeKeys('platform.digest', {
    en: 'How often old digests are removed, see the retention.',
    'zh-CN': '清理旧摘要的频率，见保留时间。',
  }),
}
