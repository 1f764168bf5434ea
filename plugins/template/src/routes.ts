import { type Database, findPage } from '@plinth/database'
import {
  currentVersion,
  id,
  idParams,
  instant,
  line,
  listPage,
  listQuery,
  listResponse,
  mapListRows,
  newestFirst,
  nothing,
  nullable,
  operatorVisibleTo,
  previewVariable,
  rateLimited,
  routesWith,
  Type,
  text,
  version,
  versionQuery,
} from '@plinth/http'
import { type GuardedRequest, requirePrincipal } from '@plinth/iam'
import { omitUndefined } from '@plinth/kernel'
import type { Static } from 'typebox'
import type { Compiler } from './compile/compiler.ts'
import { htmlFormats, sourceLimits } from './compile/source.ts'
import type { TemplateValue } from './contract.ts'
import { permissionCodes } from './declarations.ts'
import { TemplateRow } from './entities.ts'
import {
  type Author,
  maxPreviewVariables,
  previewTemplate,
  type TemplateAdmin,
  type TemplateContent,
} from './template-admin.ts'
import { allChannels, canonicalLocale } from './template-service.ts'

interface TemplateRouteDependencies {
  readonly db: Database
  readonly admin: TemplateAdmin
  readonly compiler: Pick<Compiler, 'preview'>
}

const path = '/api/v1/admin/templates'

const code = Type.String({
  maxLength: 128,
  pattern: '^[a-z0-9][a-z0-9._:-]*$',
  description: 'Code under which messages use the template.',
})
const channel = Type.String({
  maxLength: 64,
  pattern: '^[a-z][a-z0-9-]*$',
  description: 'Code of a channel, or `all` for channels without their own template.',
})
const locale = Type.String({ minLength: 2, maxLength: 35, description: 'Language as BCP 47 tag.' })
const htmlFormat = Type.Enum([...htmlFormats], {
  description: 'Format of the content. `mjml` is compiled to HTML when the template is saved, in strict mode.',
})

/**
 * Schema of a text with several lines. NUL and unpaired surrogates are rejected, because databases cannot store them.
 */
const lines = (maxLength: number, description: string) =>
  Type.String({ maxLength, pattern: '^[^\\0\\p{Cs}]*$', description })

const content = Type.Object({
  subject: line(sourceLimits.subject, {
    description: 'Handlebars template of the subject, a single line. Values are not escaped.',
  }),
  content: lines(sourceLimits.content, 'Plain text, in Handlebars; values are not escaped.'),
  html: Type.Optional(nullable(lines(sourceLimits.html, 'HTML or MJML, in Handlebars; values are escaped.'))),
  htmlFormat: Type.Optional(nullable(htmlFormat)),
  enabled: Type.Optional(Type.Boolean({ default: true })),
})

const previewBody = Type.Object({
  subject: Type.Optional(content.properties.subject),
  content: Type.Optional(content.properties.content),
  html: content.properties.html,
  htmlFormat: content.properties.htmlFormat,
  // The tag is not validated, because it is incomplete while the user types it.
  locale: Type.Optional(
    Type.String({ maxLength: 35, description: 'Language that is set as `lang` if the MJML has none.' }),
  ),
  variables: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), { description: 'Values of the variables, as any JSON.' }),
  ),
})

const templateItem = Type.Object({
  id,
  code: text,
  channel: text,
  locale: text,
  subject: text,
  htmlFormat: nullable(htmlFormat),
  variables: Type.Array(text, { description: 'Variables that the template needs.' }),
  enabled: Type.Boolean(),
  version: currentVersion,
  createdAt: instant,
  updatedAt: instant,
  updatedBy: nullable(
    Type.String({
      description: 'User who made the last change. Null if this user is outside the data scope of the caller.',
    }),
  ),
})
const templateView = Type.Object({ ...templateItem.properties, content: text, html: nullable(text) })

const query = Type.Object({
  ...listQuery.properties,
  code: Type.Optional(code),
  channel: Type.Optional(channel),
  locale: Type.Optional(locale),
  enabled: Type.Optional(Type.Boolean()),
  keyword: Type.Optional(line(100, { description: 'Part of the code or subject.' })),
})

const { route } = routesWith<TemplateRouteDependencies>()

/** Reason codes of the routes that compile a template. */
const compileReasons = [
  'template.compile-timeout',
  'template.compiler-busy',
  'template.html-format',
  'template.locale-invalid',
  'template.source-refused',
  'template.taken',
  'template.unknown',
]

/** Reason codes of the routes that compile and render a template. */
const renderReasons = [...compileReasons, 'template.output-too-large', 'template.value-refused']

/** Routes for operators who edit templates. */
export const templateRoutes = [
  route({
    method: 'GET',
    path,
    summary: 'List message templates, newest first',
    access: { permission: permissionCodes.view, scope: 'none' },
    request: { query },
    response: listPage(templateItem),
    reasons: [],
    handler: (request, { db }) => listTemplates(request, db),
  }),
  route({
    method: 'GET',
    path: `${path}/:id`,
    summary: 'Get a message template',
    access: { permission: permissionCodes.view, scope: 'none' },
    request: { params: idParams },
    response: templateView,
    reasons: ['template.unknown'],
    handler: async (request, { admin }) => viewOf(request, await admin.get(request.params.id)),
  }),
  route({
    method: 'POST',
    path,
    summary: 'Create a message template',
    description:
      'Compiles the template. An invalid template is rejected, and `data.fault` contains field, rule, line and column.',
    access: { permission: permissionCodes.create, scope: 'all' },
    request: {
      body: Type.Object({ code, channel: { ...channel, default: allChannels }, locale, ...content.properties }),
    },
    response: templateView,
    reasons: compileReasons,
    handler: async (request, { admin }) =>
      viewOf(request, await admin.create(request.body, contentOf(request.body), authorOf(request))),
  }),
  route({
    method: 'POST',
    path: `${path}/preview`,
    summary: 'Preview a template; stores and sends nothing',
    description:
      'Compiles and renders the template in the request. An invalid template is rejected as in the creation of a template.',
    access: { permission: permissionCodes.view, scope: 'none' },
    annotations: [rateLimited({ maxAttempts: 240, windowSeconds: 60, keyStrategy: 'USER_ROUTE' })],
    request: { body: previewBody },
    response: Type.Object({
      subject: text,
      content: text,
      html: nullable(text),
      variables: Type.Array(previewVariable, {
        maxItems: maxPreviewVariables,
        description: 'Variables that the template uses.',
      }),
    }),
    reasons: renderReasons,
    async handler({ body: { variables = {}, locale, ...source } }, { compiler }) {
      const { subject, content, html, htmlFormat } = contentOf({ subject: '', content: '', ...source })
      const shown = await previewTemplate(
        {
          subject,
          content,
          html: html === '' ? null : html,
          htmlFormat,
          locale: canonicalLocale(locale ?? '') ?? null,
        },
        variables as Readonly<Record<string, TemplateValue>>,
        compiler,
      )
      return { ...shown, variables: shown.variables.map((one) => ({ ...one, usedIn: [...one.usedIn] })) }
    },
  }),
  route({
    method: 'PUT',
    path: `${path}/:id`,
    summary: 'Replace a message template',
    description: 'Compiles the template as in its creation. Code, channel and language do not change.',
    access: { permission: permissionCodes.update, scope: 'all' },
    request: { params: idParams, body: Type.Object({ ...content.properties, version }) },
    response: templateView,
    reasons: [...renderReasons, 'template.version-conflict'],
    handler: async (request, { admin }) => {
      const { params, body } = request
      return viewOf(request, await admin.update(params.id, contentOf(body), body.version, authorOf(request)))
    },
  }),
  route({
    method: 'DELETE',
    path: `${path}/:id`,
    summary: 'Delete a message template',
    access: { permission: permissionCodes.delete, scope: 'all' },
    request: { params: idParams, query: versionQuery },
    response: nothing,
    reasons: ['template.unknown', 'template.version-conflict'],
    async handler(request, { admin }) {
      await admin.delete(request.params.id, request.query.version, authorOf(request))
      return null
    },
  }),
]

function listTemplates(request: Viewed & { readonly query: Static<typeof query> }, db: Database) {
  const expected = request.query
  const { code, channel, locale, enabled } = expected
  const tag = locale === undefined ? undefined : (canonicalLocale(locale) ?? locale)
  const where = Object.fromEntries(
    Object.entries({ code, channel, locale: tag, enabled }).filter(([, value]) => value !== undefined),
  )
  const search = { text: expected.keyword ?? '', properties: ['code', 'subject'] }
  const exclude = ['content', 'html', 'compiled'] as const
  return listResponse(expected, newestFirst, async (window) =>
    mapListRows(await findPage(db.fork(), TemplateRow, where, window, { search, exclude }), (row) =>
      itemOf(request, row),
    ),
  )
}

function itemOf(
  request: Viewed,
  template: Omit<TemplateRow, 'content' | 'html' | 'compiled'>,
): Static<typeof templateItem> {
  const { id, code, channel, locale, subject, htmlFormat, variables, enabled, version } = template
  return {
    id,
    code,
    channel,
    locale,
    subject,
    htmlFormat: htmlFormat ?? null,
    variables,
    enabled,
    version,
    updatedBy: operatorVisibleTo(request, template.updatedBy),
    createdAt: template.createdAt.toISOString(),
    updatedAt: template.updatedAt.toISOString(),
  }
}

const viewOf = (request: Viewed, template: TemplateRow): Static<typeof templateView> => ({
  ...itemOf(request, template),
  content: template.content,
  html: template.html ?? null,
})

const contentOf = ({ subject, content: body, html, htmlFormat, enabled }: Static<typeof content>): TemplateContent => ({
  subject,
  content: body,
  html: html ?? null,
  htmlFormat: htmlFormat ?? null,
  enabled: enabled ?? true,
})

type Viewed = Pick<GuardedRequest, 'principal'>

const authorOf = (request: Pick<GuardedRequest, 'principal' | 'clientIp' | 'traceId' | 'reason'>): Author => {
  const { principal, clientIp, traceId, reason } = request
  const { username } = requirePrincipal({ principal })
  return omitUndefined({ principal, clientIp, traceId, username, reason })
}
