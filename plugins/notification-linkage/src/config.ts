import { key } from '@plinth/kernel'

export const config = {
  'platform.forum.notifications.enabled': key.boolean({
    title: { en: 'Forum notices', 'zh-CN': '论坛互动通知' },
    description: {
      en: 'Tells authors and reporters of replies, likes, favorites and reports. Alerts by notification rules are sent in any case.',
      'zh-CN': '向作者和举报人通知回复、点赞、收藏和举报进展；通知规则的告警不受影响。',
    },
    default: true,
    reload: 'live',
  }),
}
