/** The place of the pages in the navigation. */
export const acme = { id: 'acme', title: { en: 'Logistics', 'zh-CN': '物流' }, icon: 'truck', order: 50 } as const
