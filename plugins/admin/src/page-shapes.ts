import { type Shape, shape } from '@plinth/kernel'
import { choicesShape, labelPickerShape } from './field-choices.ts'
import type { FramePageDeclaration, FrameWrite } from './frame-pages.ts'
import type { AttentionDeclaration } from './overview-declarations.ts'
import type {
  DetailPageDeclaration,
  ListPageDeclaration,
  OwnPageGroup,
  PageAction,
  PageAmount,
  PageBulkAction,
  PageColumn,
  PageForm,
  PageFormSection,
  PageLink,
  PageLivePreview,
  PageNavigationPlace,
  PageOutcome,
  PagePreview,
  PageResultLink,
} from './page-declaration.ts'

/** Groups of pages in display order. Each group is one place of the navigation, and its pages are the tabs there. */
export const pageGroups = [
  'orders',
  'points',
  'ledger',
  'messages',
  'rules',
  'access',
  'audit',
  'jobs',
  'integrations',
  'configuration',
  'product',
] as const
export type PageGroup = (typeof pageGroups)[number]

/** Icons of the groups that plugins declare. */
export const groupIcons = [
  'award',
  'book',
  'box',
  'building',
  'calendar',
  'camera',
  'car',
  'chart',
  'database',
  'file',
  'flag',
  'folder',
  'gift',
  'globe',
  'heart',
  'lifebuoy',
  'map',
  'message',
  'school',
  'shield',
  'shop',
  'tag',
  'ticket',
  'tool',
  'truck',
] as const
export type GroupIcon = (typeof groupIcons)[number]

export const tones = ['good', 'info', 'warn', 'bad', 'quiet'] as const
/** Colour of a state. */
export type Tone = (typeof tones)[number]

const { text, flag, localized, list, map, among, record, scalar } = shape
const localizedMap = map(localized)
const order = { type: 'number' } as const
const names = list(text)

const renderers: readonly PageColumn['as'][] = [
  'text',
  'time',
  'count',
  'amount',
  'flag',
  'status',
  'chips',
  'reference',
  'json',
  'difference',
  'rows',
  'html',
  'described',
  'file',
]

/** A value has exactly one member: `field` (member of the row), `list` (members of the row) or `value` (constant). */
const value: Shape = {
  type: 'object',
  properties: { field: text, list: names, value: {} },
  additionalProperties: false,
  minProperties: 1,
  maxProperties: 1,
}
const values = map(value)

const columnOf = (columns: Shape) =>
  record<PageColumn>(
    { field: text, as: among(renderers) },
    {
      title: localized,
      link: flag,
      mono: flag,
      hidden: flag,
      unit: among(['bytes', 'ms', 's', 'percent']),
      total: flag,
      tones: map(among(tones)),
      labels: localizedMap,
      member: text,
      before: text,
      format: text,
      fallback: text,
      currency: text,
      asset: text,
      decimals: text,
      symbol: text,
      columns,
      opens: record<NonNullable<PageColumn['opens']>>({ base: text, path: text }),
      of: record<NonNullable<PageColumn['of']>>({ labels: text }, { page: text, optional: flag }),
    },
  )
// Items of a list column cannot contain another list column.
const columns = list(columnOf(list(columnOf({ type: 'array', maxItems: 0 }))))

const pickers = { options: map(labelPickerShape), choices: map(choicesShape) }

const preview = record<PagePreview>(
  { operation: text, columns },
  { params: values, body: values, takes: names, possible: text },
)
const livePreview = record<PageLivePreview>(
  { operation: text, columns, takes: names },
  { params: values, body: values, samples: record<NonNullable<PageLivePreview['samples']>>({ into: text, of: text }) },
)
const previewOrMember: Shape = { ...preview, type: ['string', 'object'] }

const amount: Shape = {
  type: 'object',
  properties: { unit: text, field: text } satisfies Record<KeysOfUnion<PageAmount>, Shape>,
  additionalProperties: false,
  minProperties: 1,
  maxProperties: 1,
}
type KeysOfUnion<T> = T extends unknown ? keyof T : never

const write = {
  body: values,
  preview: previewOrMember,
  answer: columns,
  outcome: record<PageOutcome>({ field: text, good: list({}, 1) }),
  created: record<PageResultLink>({ page: text, field: text }),
  reason: among(['optional', 'required']),
  tone: among(['danger']),
  amounts: map(amount),
}

const action = record<PageAction>(
  { operation: text, label: localized, params: values },
  {
    ...write,
    query: values,
    ask: names,
    ...pickers,
    once: text,
    confirm: localized,
    type: text,
    undo: text,
    when: map(list({})),
  },
)

const form = record<PageForm>(
  { operation: text, title: localized, fields: names },
  {
    ...write,
    lead: localized,
    submit: localized,
    whole: flag,
    sections: list(record<PageFormSection>({ title: localized, fields: names })),
    showWhen: map(map(list({}))),
    defaults: map(text),
    params: values,
    secret: names,
    long: names,
    ...pickers,
    livePreview,
    version: text,
    once: text,
  },
)

const bulk = record<PageBulkAction>(
  { operation: text, label: localized, ids: text },
  { ...write, ask: names, confirm: localized },
)

/** A part of the document of a frame. */
const code: Shape = { type: 'string', maxLength: 1_000_000 }
const frameWrite = record<FrameWrite>(
  { operation: text, label: localized },
  { confirm: localized, columns, reason: write.reason, tone: write.tone },
)

const filter = record<NonNullable<ListPageDeclaration['filters']>[number]>(
  { name: text },
  { labels: localizedMap, options: labelPickerShape },
)
const live: Shape = { type: ['boolean', 'array'], description: 'true, false or a list of tables', items: text }
/** A group of the product by its id, or a group of the plugin. */
const group: Shape = {
  ...record<OwnPageGroup>({ id: shape.dotted, title: localized, icon: among(groupIcons), order }),
  type: ['string', 'object'],
  enum: pageGroups,
}
const place = record<PageNavigationPlace>({ group, order })
const page = { id: text, title: localized, source: text }

export const pageShape = (): Shape =>
  shape.variants('kind', [
    record<ListPageDeclaration>(
      { ...page, kind: among(['list']), key: text, columns },
      {
        place,
        lead: localized,
        search: text,
        find: names,
        filters: list(filter),
        sort: text,
        live,
        actions: list(action),
        bulk: list(bulk),
        create: form,
        links: list(record<PageLink>({ page: text, label: localized })),
        forms: list(form),
        detail: text,
        empty: localized,
      },
    ),
    record<DetailPageDeclaration>(
      {
        ...page,
        kind: among(['detail']),
        sections: list(record<DetailPageDeclaration['sections'][number]>({ columns }, { title: localized })),
      },
      {
        place,
        name: text,
        param: text,
        form,
        actions: list(action),
        live,
        related: list(
          record<NonNullable<DetailPageDeclaration['related']>[number]>(
            { page: text, title: localized, filter: values },
            { optional: flag },
          ),
        ),
      },
    ),
    record<FramePageDeclaration>(
      { ...page, kind: among(['frame']), script: code },
      { place, lead: localized, html: code, style: code, texts: localizedMap, reads: names, writes: list(frameWrite) },
    ),
  ])

export const attentionShape = (): Shape =>
  record<AttentionDeclaration>(
    { id: text, title: localized, tone: among(['bad', 'warn']), source: text },
    {
      query: map(scalar),
      count: text,
      where: map(scalar),
      filled: text,
      live: names,
      page: record<NonNullable<AttentionDeclaration['page']>>({ id: text }, { filter: map(text) }),
      place: among(['overview', 'navigation']),
    },
  )
