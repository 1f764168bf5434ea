import { key } from '@plinth/kernel'

export const keys = {
  'platform.conversation.enabled': key.boolean({
    title: { en: 'Conversation notifications', 'zh-CN': '会话通知' },
    description: {
      en: 'Notifies users of new messages in their conversations. The conversation service stores the conversations.',
      'zh-CN': '向用户通知其会话中的新消息；会话由会话服务存储。',
    },
    default: true,
    reload: 'live',
  }),
  'platform.forum.notifications.enabled': key.boolean({
    title: { en: 'Forum notifications', 'zh-CN': '论坛互动通知' },
    description: {
      en: 'Notifies authors and reporters of replies, likes, favorites and reports. This does not affect alerts of notification rules.',
      'zh-CN': '向作者和举报人通知回复、点赞、收藏和举报进展；通知规则的告警不受影响。',
    },
    default: true,
    reload: 'live',
  }),
}
