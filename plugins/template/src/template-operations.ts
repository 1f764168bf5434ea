import type { Database } from '@plinth/database'
import { bilingual } from '@plinth/kernel'
import { permission, pluginWith } from '@plinth/resource'
import type { Static } from 'typebox'
import type { Compiler } from './compile/compiler.ts'
import { businessError, permissionCodes } from './declarations.ts'
import { type content, templateItem, templateJson, templateQuery, versionItem, versionJson } from './template-json.ts'
import { canonicalLocale } from './template-service.ts'
import { checkedSource, fieldsOf, type StoredFields } from './versions/checked-source.ts'
import { endVersions, recordVersion, removeDraft } from './versions/template-versions.ts'

interface Parts {
  readonly compiler: Pick<Compiler, 'compile'>
  readonly db: Database
}

export const path = '/api/v1/admin/templates'
export const versionsPath = '/api/v1/admin/template-versions'

/** Reason codes of the routes that compile a template. */
export const compileReasons = [
  'template.compile-timeout',
  'template.compiler-busy',
  'template.html-format',
  'template.locale-invalid',
  'template.source-refused',
  'template.taken',
  'template.test-values-refused',
  'template.test-values-unknown',
  'template.unknown',
  'template.value-refused',
]

/** Reason codes of the routes that compile and render a template. */
export const renderReasons = [...compileReasons, 'template.output-too-large']

const view = permission(permissionCodes.view, 'View message templates', '查看消息模板')
const create = permission(permissionCodes.create, 'Create message templates', '创建消息模板')
const update = permission(permissionCodes.update, 'Change message templates', '修改消息模板')
const remove = permission(permissionCodes.delete, 'Delete message templates', '删除消息模板')
/** Permissions of the routes in `versions/version-routes.ts`. */
export const versionPermissions = [
  { code: permissionCodes.draft, displayName: bilingual('Edit drafts of message templates', '编辑消息模板草稿') },
  { code: permissionCodes.publish, displayName: bilingual('Publish message templates', '发布消息模板') },
]

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
      return { locale, ...(await compiledColumns(input, locale, undefined, parts)) }
    },
    inTransaction: ({ parts, em, row, now }) => recordVersion(parts.db, em, row, now, null),
  },
  change: {
    access: update,
    scope: 'all',
    summary: 'Replace a message template',
    description:
      'Compiles the template as in its creation, and publishes it at once as the next version. Code, channel, language and attachments do not change. Omitted test values do not change. A draft stays, and is then outdated.',
    throws: renderReasons,
    prepare: ({ input, before, parts }) => compiledColumns(input, before.locale, before, parts),
    inTransaction: ({ parts, em, row, now }) => recordVersion(parts.db, em, row, now, null),
  },
  remove: {
    access: remove,
    scope: 'all',
    description:
      'Removes the template and its draft. Waiting messages are still sent with the version that they were stored with.',
    async inTransaction({ em, row, now }) {
      await endVersions(em, row.id, now)
      await removeDraft(em, row.id)
    },
  },
  audit: { kind: 'template', summary: ({ code, channel, locale }) => ({ code, channel, locale }) },
})

/** Published versions of templates. They never change. */
export const versionList = resource(versionItem, {
  area: 'template',
  path: versionsPath,
  notFound: 'version-unknown',
  errors: businessError,
  // Only operators who see all rows, because the history names operators.
  list: { access: view, scope: 'all', filters: ['templateId'], range: 'createdAt' },
})
export const versionOperations = resource(versionJson, {
  area: 'template',
  path: versionsPath,
  notFound: 'version-unknown',
  errors: businessError,
  get: { access: view, scope: 'all' },
})

/** @throws BusinessError "400", the errors of `checkedSource` */
async function compiledColumns(
  input: Static<typeof content>,
  locale: string,
  before: StoredFields | undefined,
  { compiler }: Parts,
) {
  const { subject, content, html = null, htmlFormat = null, enabled = true, testValues } = input
  const attachments = before?.attachments ?? null
  const isKept = testValues === undefined
  const fields = {
    subject,
    content,
    html,
    htmlFormat,
    attachments,
    testValues: testValues ?? (isKept ? before?.testValues : null),
  }
  return { enabled, ...(await checkedSource(fieldsOf(fields), locale, compiler, isKept ? 'remove' : 'reject')) }
}
