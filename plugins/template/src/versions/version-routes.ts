import {
  currentVersion,
  describedValue,
  id,
  idParams,
  line,
  nothing,
  nullable,
  routesWith,
  Type,
  text,
} from '@plinth/http'
import { operatorOf } from '@plinth/iam'
import { idempotent } from '@plinth/idempotency'
import { localize } from '@plinth/kernel'
import { uploadedFile } from '@plinth/storage'
import type { TemplateUses } from '../contract.ts'
import { permissionCodes } from '../declarations.ts'
import type { TemplateRow } from '../entities.ts'
import { draftBody, draftView } from '../template-json.ts'
import { compileReasons, path, versionsPath } from '../template-operations.ts'
import { fieldsOf } from './checked-source.ts'
import { compareVersions, maxLines } from './comparison.ts'
import { attachmentTypes, type DraftView, type Versions } from './template-versions.ts'

interface VersionRouteDependencies {
  readonly versions: Versions
  readonly uses: () => ReadonlyMap<string, TemplateUses>
}

/** Maximum number of uses of each kind in a response. */
const maxUses = 100

const { route } = routesWith<VersionRouteDependencies>()
/** Only operators who see all rows, because the history names operators. */
const view = { permission: permissionCodes.view, scope: 'all' } as const
const draft = { permission: permissionCodes.draft, scope: 'all' } as const
const publish = { permission: permissionCodes.publish, scope: 'all' } as const

const note = Type.Optional(nullable(line(500, { description: 'Why this version is published.' })))
const draftVersion = Type.Integer({
  minimum: 0,
  description: 'Version of the draft that the editor has seen. 0: there was none.',
})
const textOrNull = nullable(text)
const comparison = Type.Object({
  fields: Type.Array(Type.Object({ field: text, before: textOrNull, after: textOrNull }), {
    maxItems: 4,
    description: 'Short fields that differ.',
  }),
  lines: Type.Array(
    Type.Object({
      field: Type.Enum(['content', 'html']),
      change: Type.Enum(['added', 'removed', 'same', 'skipped'], {
        description: '`skipped`: lines that are the same in both texts are left out here.',
      }),
      text,
    }),
    { maxItems: maxLines, description: 'Lines that differ, with three lines around them.' },
  ),
})
const newAttachment = Type.Object({
  file: uploadedFile({ types: attachmentTypes }),
  name: Type.Optional(line(200, { description: 'Name for the recipient. Default: the name of the file.' })),
  contentId: Type.Optional(
    Type.String({
      pattern: '^[A-Za-z0-9._-]{1,64}$',
      description: 'The HTML shows the picture with `cid:` and this id.',
    }),
  ),
  version: draftVersion,
})
const published = Type.Object({ id, version: currentVersion })
const use = Type.Object({ kind: text, use: describedValue })

const conflictReasons = ['template.unknown', 'template.version-conflict']
const draftReasons = [...conflictReasons, 'template.no-draft', 'template.test-values-refused', 'template.value-refused']

/** Routes of drafts and of published versions. */
export const versionRoutes = [
  route({
    method: 'GET',
    path: `${path}/:id/draft`,
    summary: 'Get the draft of a message template',
    access: view,
    request: { params: idParams },
    response: draftView,
    reasons: ['template.unknown'],
    handler: async ({ params }, { versions }) => viewOf(await versions.draft(params.id)),
  }),
  route({
    method: 'PUT',
    path: `${path}/:id/draft`,
    summary: 'Save the draft of a message template; messages do not use it',
    description: 'Creates or replaces the draft. It is not compiled, so that unfinished work can be saved.',
    access: draft,
    request: { params: idParams, body: draftBody },
    response: draftView,
    reasons: draftReasons,
    async handler(request, { versions }) {
      const { html = null, htmlFormat = null, testValues = null, ...body } = request.body
      const fields = { ...body, html, htmlFormat, testValues }
      return viewOf(await versions.save(request.params.id, fields, operatorOf(request)))
    },
  }),
  route({
    method: 'DELETE',
    path: `${path}/:id/draft`,
    summary: 'Discard the draft of a message template',
    access: draft,
    request: { params: idParams, query: Type.Object({ version: Type.Optional(currentVersion) }) },
    response: nothing,
    reasons: ['template.no-draft', ...conflictReasons],
    async handler(request, { versions }) {
      await versions.discard(request.params.id, request.query.version, operatorOf(request))
      return null
    },
  }),
  route({
    method: 'POST',
    path: `${path}/:id/draft/attachments`,
    summary: 'Add a file to the draft of a message template',
    description: 'Every mail of the template contains the file. Other channels do not send it.',
    access: draft,
    annotations: [idempotent],
    request: { params: idParams, body: newAttachment },
    response: draftView,
    reasons: [
      ...draftReasons,
      'template.attachment-taken',
      'template.no-files',
      'template.too-many-attachments',
      'storage.disk-disabled',
      'storage.file-too-large',
      'storage.upload-type',
      'storage.upload-unknown',
    ],
    handler: async (request, { versions }) =>
      viewOf(await versions.attach(request.params.id, request.body, operatorOf(request))),
  }),
  route({
    method: 'POST',
    path: `${path}/:id/draft/attachments/remove`,
    summary: 'Remove a file from the draft of a message template',
    access: draft,
    annotations: [idempotent],
    request: { params: idParams, body: Type.Object({ name: line(200), version: draftVersion }) },
    response: draftView,
    reasons: [...draftReasons, 'template.attachment-unknown'],
    async handler(request, { versions }) {
      const { name, version } = request.body
      return viewOf(await versions.detach(request.params.id, name, version, operatorOf(request)))
    },
  }),
  route({
    method: 'POST',
    path: `${path}/:id/draft/publish`,
    summary: 'Publish the draft of a message template as its next version',
    description: 'Compiles the draft. An invalid draft is rejected as in the creation of a template.',
    access: publish,
    annotations: [idempotent],
    request: { params: idParams, body: Type.Object({ version: draftVersion, note }) },
    response: published,
    reasons: [...compileReasons, ...draftReasons, 'template.draft-outdated'],
    async handler(request, { versions }) {
      const { version, note = null } = request.body
      return publishedOf(await versions.publish(request.params.id, version, note, operatorOf(request)))
    },
  }),
  route({
    method: 'GET',
    path: `${path}/:id/draft/comparison`,
    summary: 'Compare the draft of a message template with the published version',
    access: view,
    request: { params: idParams },
    response: comparison,
    reasons: ['template.unknown'],
    async handler({ params }, { versions }) {
      const found = await versions.draft(params.id)
      return copyOf(compareVersions(fieldsOf(found.published), found))
    },
  }),
  route({
    method: 'GET',
    path: `${versionsPath}/:id/comparison`,
    summary: 'Compare a version of a message template with another one',
    access: view,
    request: {
      params: idParams,
      query: Type.Object({
        against: Type.Optional(
          Type.String({
            pattern: '^(previous|published|[1-9]\\d{0,8})$',
            default: 'previous',
            description: 'Number of the other version, `previous` or `published`. If there is none, everything is new.',
          }),
        ),
      }),
    },
    response: comparison,
    reasons: ['template.version-unknown'],
    async handler({ params, query: { against = 'previous' } }, { versions }) {
      const after = await versions.version(params.id)
      return copyOf(compareVersions(await versions.other(after, against), fieldsOf(after)))
    },
  }),
  route({
    method: 'POST',
    path: `${versionsPath}/:id/take-back`,
    summary: 'Publish an earlier version of a message template again, as its next version',
    description: 'The draft does not change. To undo this, take back the version that was published before.',
    access: publish,
    annotations: [idempotent],
    request: {
      params: idParams,
      body: Type.Object({
        current: Type.Optional(
          Type.Integer({ minimum: 1, description: 'Number of the published version that the operator has seen.' }),
        ),
        note,
      }),
    },
    response: published,
    reasons: [...compileReasons, ...conflictReasons, 'template.version-unknown'],
    async handler(request, { versions }) {
      const { current, note = null } = request.body
      return publishedOf(await versions.takeBack(request.params.id, current, note, operatorOf(request)))
    },
  }),
  route({
    method: 'GET',
    path: `${path}/:id/uses`,
    summary: 'List what uses the code of a message template',
    access: view,
    request: { params: idParams },
    response: Type.Object({ uses: Type.Array(use) }),
    reasons: ['template.unknown'],
    async handler({ params, locale }, { versions, uses }) {
      const { code } = (await versions.draft(params.id)).published
      const found = [...uses().values()].map(async ({ title, find }) =>
        (await find(code, maxUses)).map(({ name, page = null, id = null }) => ({
          kind: localize(title, locale),
          use: { value: String(id ?? name), name, page, labels: null, unit: null },
        })),
      )
      return { uses: (await Promise.all(found)).flat() }
    },
  }),
]

const publishedOf = ({ id, version }: Pick<TemplateRow, 'id' | 'version'>) => ({ id, version })

const copyOf = ({ fields, lines }: ReturnType<typeof compareVersions>) => ({ fields: [...fields], lines: [...lines] })

/** The callers of these routes have the data scope `all`, so that they see the names of operators. */
const viewOf = ({ published, templateId, updatedAt, attachments, ...draft }: DraftView) => ({
  ...draft,
  id: templateId,
  code: published.code,
  channel: published.channel,
  locale: published.locale,
  exists: draft.version > 0,
  attachments: attachments === null ? null : [...attachments],
  publishedVersion: published.version,
  updatedAt: updatedAt?.toISOString() ?? null,
})
