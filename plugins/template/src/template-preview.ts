import type { SampleUse } from '@plinth/admin'
import type { Compiler } from './compile/compiler.ts'
import type { TemplateSource } from './compile/source.ts'
import { usesOf } from './compile/variables.ts'
import type { TemplateValue } from './contract.ts'
import { refusal } from './failures.ts'
import { RenderedTooMuch } from './render/render-program.ts'
import { renderTemplate } from './render/render-template.ts'
import { plainVariables, valueAt } from './render/values.ts'

/** What a template would say. */
interface PreviewedTemplate {
  readonly subject: string
  readonly content: string
  readonly html: string | null
  readonly variables: readonly SampleUse[]
}

/** Variables that are told of. */
export const mostPreviewVariables = 200

/**
 * Compiles and renders what is not saved. Bounded as saving and sending are: by the deadline and the queue of the compiler, by
 * the limits of values and of a rendering.
 *
 * @throws BusinessError "400" `template.html-format` for HTML without a format, `template.value-refused`,
 *   `template.output-too-large`, and as `Compiler.preview` does
 */
export async function previewTemplate(
  source: TemplateSource,
  variables: Readonly<Record<string, TemplateValue>>,
  compiler: Pick<Compiler, 'preview'>,
): Promise<PreviewedTemplate> {
  const plain = plainVariables(variables)
  const { html: markup, htmlFormat } = source
  if (markup !== null && htmlFormat === null) throw refusal('html-format', { data: { field: 'htmlFormat' } })
  const compiled = await compiler.preview(source)
  const parts = Object.entries({ subject: compiled.subject, content: compiled.content, html: compiled.html ?? [] })
  const uses = parts.map(([field, program]) => [field, usesOf([program])] as const)
  const names = [...new Set(uses.flatMap(([, used]) => [...used.keys()]))]
  try {
    const { subject, content, html } = renderTemplate(compiled, plain)
    return {
      subject,
      content,
      html: html ?? null,
      variables: names.slice(0, mostPreviewVariables).map((name) => ({
        name,
        usedIn: uses.filter(([, used]) => used.has(name)).map(([field]) => field),
        needed: compiled.variables.includes(name),
        given: valueAt(plain, name.split('.')) !== undefined,
      })),
    }
  } catch (error) {
    throw error instanceof RenderedTooMuch ? refusal('output-too-large', { text: 'preview-too-large' }) : error
  }
}
