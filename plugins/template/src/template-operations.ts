import { permission, pluginWith } from '@plinth/resource'
import type { Static } from 'typebox'
import type { Compiler } from './compile/compiler.ts'
import { businessError, permissionCodes } from './declarations.ts'
import { type content, templateItem, templateJson, templateQuery } from './template-json.ts'
import { canonicalLocale } from './template-service.ts'

interface Parts {
  readonly compiler: Pick<Compiler, 'compile'>
}

export const path = '/api/v1/admin/templates'

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
export const renderReasons = [...compileReasons, 'template.output-too-large', 'template.value-refused']

const view = permission(permissionCodes.view, 'View message templates', '查看消息模板')
const create = permission(permissionCodes.create, 'Create message templates', '创建消息模板')
const update = permission(permissionCodes.update, 'Change message templates', '修改消息模板')
const remove = permission(permissionCodes.delete, 'Delete message templates', '删除消息模板')

const { resource } = pluginWith<Parts>()
const base = { area: 'template', path, notFound: 'unknown', errors: businessError } as const

/** List of templates without their texts. */
export const templateList = resource(templateItem, {
  ...base,
  list: {
    access: view,
    summary: 'List message templates, newest first',
    filters: ['code', 'channel', 'enabled'],
    search: ['code', 'subject'],
    query: templateQuery,
    where: ({ locale }) => (locale === undefined ? {} : { locale: canonicalLocale(locale) ?? locale }),
  },
})

/** Operations on one template. A source is compiled before it is stored, so that every stored template can be rendered. */
export const templateOperations = resource(templateJson, {
  ...base,
  get: { access: view },
  create: {
    access: create,
    scope: 'all',
    description:
      'Compiles the template. An invalid template is rejected, and `data.fault` contains field, rule, line and column.',
    annotations: [],
    throws: compileReasons,
    async prepare({ input, parts }) {
      const locale = canonicalLocale(input.locale)
      if (locale === undefined)
        throw businessError('locale-invalid', { params: { locale: input.locale }, data: { field: 'locale' } })
      return { locale, ...(await compiledColumns(input, locale, parts)) }
    },
  },
  change: {
    access: update,
    scope: 'all',
    summary: 'Replace a message template',
    description: 'Compiles the template as in its creation. Code, channel and language do not change.',
    throws: renderReasons,
    prepare: ({ input, before, parts }) => compiledColumns(input, before.locale, parts),
  },
  remove: { access: remove, scope: 'all' },
  audit: { kind: 'template', summary: ({ code, channel, locale }) => ({ code, channel, locale }) },
})

/** @throws BusinessError "400" `template.html-format`; errors of `Compiler.compile` */
async function compiledColumns(input: Static<typeof content>, locale: string, { compiler }: Parts) {
  const { subject, content, html = null, htmlFormat = null, enabled = true } = input
  if ((html === null) !== (htmlFormat === null)) throw businessError('html-format', { data: { field: 'htmlFormat' } })
  const compiled = await compiler.compile({ subject, content, html, htmlFormat, locale })
  return { html, htmlFormat, enabled, compiled: JSON.stringify(compiled), variables: [...compiled.variables] }
}
