import { type OwnPageGroup, type PageDeclaration, type PageGroup, pageGroups } from '@plinth/admin'
import type { LocalizedText } from '@plinth/kernel'

const titles: Readonly<Record<PageGroup, LocalizedText>> = {
  orders: { en: 'Orders and payments', 'zh-CN': '订单与支付' },
  points: { en: 'Points', 'zh-CN': '积分' },
  ledger: { en: 'Ledger', 'zh-CN': '账本' },
  messages: { en: 'Messages', 'zh-CN': '消息' },
  rules: { en: 'Templates and rules', 'zh-CN': '模板与规则' },
  access: { en: 'Access', 'zh-CN': '访问控制' },
  audit: { en: 'Audit', 'zh-CN': '审计' },
  jobs: { en: 'Background work', 'zh-CN': '后台任务' },
  integrations: { en: 'Integrations', 'zh-CN': '集成' },
  configuration: { en: 'Configuration', 'zh-CN': '配置' },
  product: { en: 'Product', 'zh-CN': '产品' },
  account: { en: 'My account', 'zh-CN': '我的账户' },
}

/** Distance between the positions of two groups of the product, so that other groups fit between them. */
const step = 100

/** A place of the navigation. The browser has an icon for each group of the product. */
export interface NavigationGroup {
  readonly id: string
  readonly title: LocalizedText
  readonly icon?: string
  readonly order: number
}

const productGroups = pageGroups.map(
  (id, index): NavigationGroup => ({ id, title: titles[id], order: (index + 1) * step }),
)
const idOf = (group: PageGroup | OwnPageGroup) => (typeof group === 'string' ? group : group.id)

/** Returns the groups of the product and those that pages declare, in navigation order. */
export function navigationGroups(pages: Iterable<Pick<PageDeclaration, 'place'>>): readonly NavigationGroup[] {
  const groups = new Map(productGroups.map((group) => [group.id, group]))
  for (const { place } of pages)
    if (typeof place?.group === 'object' && !groups.has(place.group.id)) groups.set(place.group.id, place.group)
  return [...groups.values()].sort((a, b) => a.order - b.order)
}

/** True if the page is in the group. */
export const isInGroup = ({ place }: Pick<PageDeclaration, 'place'>, { id }: NavigationGroup): boolean =>
  place !== undefined && idOf(place.group) === id

/** Returns the problems of the groups that pages declare. Each problem is one sentence. */
export function groupProblems(pages: Iterable<Pick<PageDeclaration, 'id' | 'place'>>): readonly string[] {
  const known = new Map<string, { readonly page: string; readonly text: string }>()
  return [...pages].flatMap(({ id: page, place }) => {
    if (typeof place?.group !== 'object') return []
    const { id, title, icon, order } = place.group
    if (titles[id as PageGroup] !== undefined)
      return [`page "${page}": the product has a group "${id}": write its id, or choose another one`]
    const text = JSON.stringify([title, icon, order])
    const first = known.get(id) ?? { page, text }
    known.set(id, first)
    return first.text === text
      ? []
      : [`page "${page}": its group "${id}" differs from that of the page "${first.page}"`]
  })
}
