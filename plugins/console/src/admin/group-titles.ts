import type { PageGroup } from '@plinth/admin'
import type { LocalizedText } from '@plinth/kernel'

/** What the navigation calls its groups. */
export const groupTitles: Readonly<Record<PageGroup, LocalizedText>> = {
  overview: { en: 'Overview', 'zh-CN': '概览' },
  configuration: { en: 'Configuration', 'zh-CN': '配置' },
  access: { en: 'Access', 'zh-CN': '访问控制' },
  activity: { en: 'Activity', 'zh-CN': '活动' },
  traffic: { en: 'Traffic', 'zh-CN': '流量' },
  messages: { en: 'Messages', 'zh-CN': '消息' },
  value: { en: 'Value', 'zh-CN': '价值' },
  product: { en: 'Product', 'zh-CN': '产品' },
}
