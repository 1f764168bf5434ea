import type { PagePlace } from '@plinth/admin'
import type { LocalizedText } from '@plinth/kernel'

/** A page that the console brings itself, because no declaration can say what it does. */
export interface OwnPage {
  readonly kind: 'own'
  /** Also the name under which the browser finds it: see `web/admin/own/own-pages.tsx`. */
  readonly id: string
  readonly title: LocalizedText
  readonly place: PagePlace
  /** Id of the operation that it cannot do without: whoever may call it sees the page. A product without it has no such page. */
  readonly source: string
  /** Parameters of its address that take an id, for columns that refer to what it shows. */
  readonly opens?: readonly string[]
  /** Tables that its operations read, by the ids of those that are asked again when one of them was written to. */
  readonly live?: Readonly<Record<string, readonly string[]>>
  /** Ids of the others that it calls; the page is told which of them its reader may call. */
  readonly operations: readonly string[]
}

/** Pages by hand, one entry each. */
export const ownPages: readonly OwnPage[] = [
  {
    kind: 'own',
    id: 'system-config.centre',
    title: { en: 'Config centre', 'zh-CN': '配置中心' },
    place: { group: 'configuration', order: 10 },
    source: 'getAdminSystemConfigKeys',
    opens: ['q', 'key'],
    live: {
      getAdminSystemConfigKeys: ['sys_config', 'sys_config_version'],
      getAdminSystemConfigInstances: ['sys_config_instance'],
    },
    operations: [
      'postAdminSystemConfigChangesPreview',
      'postAdminSystemConfigChanges',
      'postAdminSystemConfigVerifications',
      'getAdminSystemConfigInstances',
      'getAdminSystemConfigExport',
      'postAdminSystemConfigImport',
    ],
  },
  {
    kind: 'own',
    id: 'iam.role-matrix',
    title: { en: 'Roles and permissions', 'zh-CN': '角色权限矩阵' },
    place: { group: 'access', order: 25 },
    source: 'getAdminIamRoles',
    operations: [
      'getAdminIamPermissions',
      'getAdminIamRolesById',
      'putAdminIamRolesById',
      'getAdminIamUsers',
      'getAdminConsolePlugins',
    ],
  },
  {
    kind: 'own',
    id: 'console.plugins',
    title: { en: 'Plugins', 'zh-CN': '插件' },
    place: { group: 'product', order: 10 },
    source: 'getAdminConsolePlugins',
    operations: [],
  },
]

/** What is wrong with the pages by hand, a sentence each. One whose plugin is left out is none of this product. */
export function ownPageFaults(
  operations: { has(id: string): boolean },
  declared: { has(id: string): boolean },
): readonly string[] {
  return ownPages.flatMap(({ id, source, operations: others }) => {
    if (!operations.has(source)) return []
    const missing = others.filter((name) => !operations.has(name))
    return [
      ...missing.map((name) => `page "${id}": the operation "${name}" is brought by no plugin`),
      ...(declared.has(id) ? [`page "${id}" is declared by a plugin, and the console has one of this name`] : []),
    ]
  })
}
