import type { PreviewVariable } from '@plinth/admin'
import { nullable, previewVariable, rateLimited, routesWith, Type, text } from '@plinth/http'
import type { Clock } from '@plinth/kernel'
import type { Compiler } from './compile/compiler.ts'
import type { TemplateSource } from './compile/source.ts'
import { findVariableUses } from './compile/variables.ts'
import type { TemplateValue } from './contract.ts'
import { businessError, permissionCodes } from './declarations.ts'
import { RenderLimitError, renderTemplate } from './render/render-program.ts'
import { copyPlainVariables, templateValueAt } from './render/values.ts'
import { content } from './template-json.ts'
import { path, renderReasons } from './template-operations.ts'
import { canonicalLocale } from './template-service.ts'

interface PreviewedTemplate {
  readonly subject: string
  readonly content: string
  readonly html: string | null
  readonly variables: readonly PreviewVariable[]
}

const maxPreviewVariables = 200

interface PreviewParts {
  readonly compiler: Pick<Compiler, 'preview'>
  /** Language and time zone of dates and numbers, unless the template has a language. */
  readonly site: () => { readonly locale: string; readonly timeZone: string }
  readonly clock: Pick<Clock, 'now'>
}

/**
 * Renders a template without saving it. The same limits apply as for saving and sending.
 *
 * @throws BusinessError "400" `template.html-format` for HTML without a format, `template.value-refused`,
 * `template.output-too-large`; errors of `Compiler.preview`
 */
async function previewTemplate(
  source: TemplateSource,
  variables: Readonly<Record<string, TemplateValue>>,
  { compiler, site, clock }: PreviewParts,
): Promise<PreviewedTemplate> {
  const plain = copyPlainVariables(variables)
  const { html: markup, htmlFormat } = source
  if (markup !== null && htmlFormat === null) throw businessError('html-format', { data: { field: 'htmlFormat' } })
  const compiled = await compiler.preview(source)
  const parts = Object.entries({ subject: compiled.subject, content: compiled.content, html: compiled.html ?? [] })
  const uses = parts.map(([field, program]) => [field, findVariableUses([program])] as const)
  const names = [...new Set(uses.flatMap(([, used]) => [...used.keys()]))]
  try {
    const { locale, timeZone } = site()
    const format = { locale: source.locale ?? locale, timeZone, now: clock.now() }
    const { subject, content, html } = renderTemplate(compiled, plain, format)
    return {
      subject,
      content,
      html: html ?? null,
      variables: names.slice(0, maxPreviewVariables).map((name) => ({
        name,
        usedIn: uses.filter(([, used]) => used.has(name)).map(([field]) => field),
        needed: compiled.variables.includes(name),
        given: templateValueAt(plain, name.split('.')) !== undefined,
      })),
    }
  } catch (error) {
    throw error instanceof RenderLimitError ? businessError('output-too-large', { text: 'preview-too-large' }) : error
  }
}

const previewBody = Type.Object({
  subject: Type.Optional(content.properties.subject),
  content: Type.Optional(content.properties.content),
  html: content.properties.html,
  htmlFormat: content.properties.htmlFormat,
  // The tag is not validated, because it is incomplete while the user types it.
  locale: Type.Optional(
    Type.String({ maxLength: 35, description: 'Language that is set as `lang` if the MJML has none.' }),
  ),
  testValues: content.properties.testValues,
  variables: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), {
      description: 'Values of the variables, as any JSON. They have priority over the test values.',
    }),
  ),
})

const { route } = routesWith<PreviewParts>()

export const previewRoutes = [
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
    async handler({ body }, parts) {
      const { variables = {}, testValues, locale = '', subject = '', content = '', html, htmlFormat = null } = body
      const shown = await previewTemplate(
        { subject, content, html: html || null, htmlFormat, locale: canonicalLocale(locale) ?? null },
        { ...testValues, ...variables } as Readonly<Record<string, TemplateValue>>,
        parts,
      )
      return { ...shown, variables: shown.variables.map((one) => ({ ...one, usedIn: [...one.usedIn] })) }
    },
  }),
]
