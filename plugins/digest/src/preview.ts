import type { Database } from '@plinth/database'
import { idParams, nullable, rateLimited, routesWith, Type, text } from '@plinth/http'
import type { Translator } from '@plinth/i18n'
import type { Templates, TemplateValue } from '@plinth/template'
import { businessError, viewDefinitions } from './declarations.ts'
import { root } from './definitions.ts'
import { type Declared, type DigestContent, type ItemData, textsOf, variablesOf } from './digest-message.ts'
import { Definition, maxShownItems } from './entities.ts'

interface PreviewParts {
  readonly db: Database
  readonly templates: Pick<Templates, 'render'> | undefined
  readonly translator: Pick<Translator, 'negotiate' | 'resolve'> | undefined
  readonly declared: Declared
}

const sample: ItemData = { name: 'Ada', title: 'Sample', topicTitle: 'Sample' }

/** Values for the translation of a text: only plain values, as in a message. */
const plainOf = (variables: Readonly<Record<string, TemplateValue>>) =>
  Object.fromEntries(
    Object.entries(variables).flatMap(([name, value]) =>
      typeof value === 'string' || typeof value === 'number' ? [[name, value] as const] : [],
    ),
  )

async function previewOf(
  definition: Definition,
  shown: DigestContent,
  locale: string,
  { templates, translator, declared }: PreviewParts,
) {
  const { template, channels } = definition
  const variables = variablesOf(shown)
  const query = { code: template ?? '', channel: channels[0] ?? 'all', locale }
  const rendered = template === null ? undefined : await templates?.render({ ...query, variables })
  if (rendered !== undefined)
    return { subject: rendered.subject, content: rendered.content, html: rendered.html ?? null }
  const language = translator?.negotiate(locale) ?? locale
  const { subject, content } = textsOf(definition, declared)
  const resolve = (written: string) => translator?.resolve(language, written, plainOf(variables)) ?? written
  return { subject: resolve(subject), content: resolve(content), html: null }
}

const { route } = routesWith<PreviewParts>()

export const previewRoutes = [
  route({
    method: 'POST',
    path: `${root}/definitions/:id/preview`,
    summary: 'Preview the message of a digest with sample items; stores and sends nothing',
    access: { permission: viewDefinitions.code, scope: 'none' },
    annotations: [rateLimited({ maxAttempts: 240, windowSeconds: 60, keyStrategy: 'USER_ROUTE' })],
    request: {
      params: idParams,
      body: Type.Object({
        itemCount: Type.Optional(
          Type.Integer({
            minimum: 1,
            maximum: 1_000_000,
            description: 'Number of all items. Default: the length of `items`, or 3.',
          }),
        ),
        locale: Type.Optional(Type.String({ maxLength: 35, description: 'Language. Default: that of the caller.' })),
        items: Type.Optional(
          Type.Array(Type.Record(Type.String(), Type.Unknown()), {
            minItems: 1,
            maxItems: maxShownItems,
            description: 'Data of the first items. Default: generated samples.',
          }),
        ),
      }),
    },
    response: Type.Object({ subject: text, content: text, html: nullable(text) }),
    reasons: ['digest.not-found', 'template.value-refused', 'template.output-too-large'],
    async handler({ params: { id }, body, locale }, parts) {
      const found = await parts.db.fork().findOne(Definition.entity, { id })
      const definition = found as unknown as Definition | null
      if (definition === null) throw businessError('not-found', { params: { id } })
      const { items: given, itemCount = given?.length ?? 3 } = body
      const shown = Math.min(itemCount, definition.itemsShown)
      const items = (given as readonly ItemData[] | undefined) ?? Array.from({ length: shown }, () => sample)
      const content = { count: itemCount, items: items.slice(0, shown), last: items.at(-1) ?? sample }
      return previewOf(definition, content, body.locale ?? locale, parts)
    },
  }),
]
