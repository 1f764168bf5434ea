import { key } from '@plinth/kernel'

export const keys = {
  'platform.conversation.enabled': key.boolean({
    title: { en: 'Conversation notices', 'zh-CN': '会话通知' },
    description: {
      en: 'Tells members of new messages in their conversations. The conversations themselves belong to the conversation service.',
      'zh-CN': '向会话成员通知新消息；会话本身由会话服务负责。',
    },
    default: true,
    reload: 'live',
  }),
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
