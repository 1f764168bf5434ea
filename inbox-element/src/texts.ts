const en = {
  title: 'Notifications',
  bellUnread: 'Notifications, {count} unread',
  more: '{count}+',
  readAll: 'Mark all as read',
  preferences: 'Preferences',
  close: 'Close',
  filter: 'Categories',
  all: 'All',
  system: 'System',
  account: 'Account',
  todo: 'To do',
  chat: 'Chat',
  blog: 'Blog',
  forum: 'Forum',
  mall: 'Shop',
  marketing: 'Offers',
  unreadOnly: 'Unread only',
  empty: 'No notifications',
  loading: 'Loading…',
  loadMore: 'Load more',
  unread: 'Unread',
  markRead: 'Mark as read: {subject}',
  markUnread: 'Mark as unread: {subject}',
  remove: 'Delete: {subject}',
  removed: 'Notification deleted',
  undo: 'Undo',
  retry: 'Try again',
  failed: 'The notifications could not be loaded.',
  notSaved: 'The change was not saved.',
  noAccess: 'You are no longer signed in. Sign in again to see your notifications.',
  offline: 'You are offline. New notifications appear when you are online again.',
  arrived: 'New notification: {subject}',
  attachments: 'Attachments',
  noFile: '{name} (not available)',
}

/** Texts of the element. `{count}`, `{subject}` and `{name}` are replaced. */
export type Texts = Readonly<Record<keyof typeof en, string>>
/** Texts of a page, also names of categories that plugins declare. */
export type OwnTexts = Partial<Texts> & Readonly<Record<string, string>>

const zhCN: Texts = {
  title: '通知',
  bellUnread: '通知，{count} 条未读',
  more: '{count}+',
  readAll: '全部标为已读',
  preferences: '通知设置',
  close: '关闭',
  filter: '分类',
  all: '全部',
  system: '系统',
  account: '账号',
  todo: '待办',
  chat: '聊天',
  blog: '博客',
  forum: '论坛',
  mall: '商城',
  marketing: '优惠',
  unreadOnly: '仅看未读',
  empty: '暂无通知',
  loading: '加载中…',
  loadMore: '加载更多',
  unread: '未读',
  markRead: '标为已读：{subject}',
  markUnread: '标为未读：{subject}',
  remove: '删除：{subject}',
  removed: '通知已删除',
  undo: '撤销',
  retry: '重试',
  failed: '通知加载失败。',
  notSaved: '更改未保存。',
  noAccess: '登录已失效，请重新登录后查看通知。',
  offline: '当前离线，恢复联网后会显示新通知。',
  arrived: '新通知：{subject}',
  attachments: '附件',
  noFile: '{name}（不可用）',
}

/** Returns the texts of a language, English if there are none. `own` texts replace them. */
export const textsFor = (locale: string, own: OwnTexts): Texts => ({
  ...(/^zh\b/i.test(locale) ? zhCN : en),
  ...own,
})

export const fill = (text: string, values: Readonly<Record<string, string | number>>): string =>
  text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole))
