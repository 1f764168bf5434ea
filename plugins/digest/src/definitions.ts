import { pluginWith } from '@plinth/resource'
import { businessError, manageDefinitions, viewDefinitions } from './declarations.ts'
import type { Declared } from './digest-message.ts'
import { Definition, Digest } from './entities.ts'

export const root = '/api/v1/admin/digests'

const contentReasons = ['digest.text-missing', 'digest.slots-missing', 'digest.window-too-long']

type Content = { readonly [K in keyof Definition]?: Definition[K] | undefined }

/** @throws BusinessError "400" with the reasons in `contentReasons` */
function assertContent(
  { code = '', template, content, kind, slots, windowSeconds, maxSeconds }: Content,
  declared: Declared,
): void {
  const isText = (text: string | null | undefined) => text != null && text.trim() !== ''
  if (!isText(template) && !isText(content) && !declared.has(code))
    throw businessError('text-missing', { data: { field: 'content' } })
  if (kind === 'slots' && slots?.length === 0) throw businessError('slots-missing', { data: { field: 'slots' } })
  if (kind === 'sliding' && (maxSeconds ?? 0) < (windowSeconds ?? 0))
    throw businessError('window-too-long', { data: { field: 'maxSeconds' } })
}

const defaults: Content = { kind: 'fixed', slots: [], windowSeconds: 3_600, maxSeconds: 86_400 }

/** Digests as operators define them. An open digest keeps its window, and its message follows the latest definition. */
export const definitions = pluginWith<{ readonly declared: Declared }>().resource(Definition, {
  area: 'digest',
  path: `${root}/definitions`,
  errors: businessError,
  list: { access: viewDefinitions, filters: ['enabled'], search: ['code'], sort: ['code', 'createdAt'] },
  get: { access: viewDefinitions },
  create: {
    access: manageDefinitions,
    scope: 'all',
    throws: contentReasons,
    prepare: ({ input, parts }) => assertContent({ ...defaults, ...(input as Content) }, parts.declared),
  },
  change: {
    access: manageDefinitions,
    scope: 'all',
    throws: contentReasons,
    prepare: ({ input, before, parts }) => assertContent({ ...before, ...(input as Content) }, parts.declared),
  },
  actions: {
    enable: {
      access: manageDefinitions,
      scope: 'all',
      title: ['Enable', '启用'],
      confirm: ['New items of {{code}} are collected.', '{{code}} 的新项目将被收集。'],
      set: { enabled: true },
      when: { enabled: false },
      undo: 'disable',
    },
    disable: {
      access: manageDefinitions,
      scope: 'all',
      title: ['Disable', '停用'],
      confirm: [
        'New items of {{code}} are sent one by one. Collected items are still sent together.',
        '{{code}} 的新项目将逐条发送，已收集的项目仍合并发送。',
      ],
      set: { enabled: false },
      when: { enabled: true },
      undo: 'enable',
    },
  },
  remove: {
    access: manageDefinitions,
    scope: 'all',
    throws: ['digest.still-open'],
    async inTransaction({ em, row }) {
      if ((await em.count(Digest.entity, { definitionId: row.id, state: 'open' })) > 0)
        throw businessError('still-open')
    },
  },
  page: { group: 'rules', order: 30 },
})
