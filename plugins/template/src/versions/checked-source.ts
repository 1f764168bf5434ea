import type { Compiler } from '../compile/compiler.ts'
import type { Program } from '../compile/program.ts'
import type { HtmlFormat } from '../compile/source.ts'
import { findVariableUses } from '../compile/variables.ts'
import type { TemplateValue } from '../contract.ts'
import { businessError } from '../declarations.ts'
import type { TemplateAttachment } from '../entities.ts'
import { copyPlainVariables } from '../render/values.ts'

/** The fields of a draft and of a published version that operators write. */
export interface TemplateFields {
  readonly subject: string
  readonly content: string
  readonly html: string | null
  readonly htmlFormat: HtmlFormat | null
  readonly attachments: readonly TemplateAttachment[] | null
  readonly testValues: Readonly<Record<string, unknown>> | null
}

/** The same fields in a row, where a missing value is null or undefined. */
export type StoredFields = Pick<TemplateFields, 'subject' | 'content'> & {
  readonly [N in 'html' | 'htmlFormat' | 'attachments' | 'testValues']?: TemplateFields[N] | undefined
}

/** Returns only the fields of a row that operators write. */
export const fieldsOf = ({ subject, content, ...more }: StoredFields): TemplateFields => ({
  subject,
  content,
  html: more.html ?? null,
  htmlFormat: more.htmlFormat ?? null,
  attachments: more.attachments ?? null,
  testValues: more.testValues ?? null,
})

/** Names of test values that suggest a secret, which operators could then read. */
const secretName = /secret|passw|pwd|credential|token|api[-_.]?key|private[-_.]?key/i
const maxTestCharacters = 16_384

/** @throws BusinessError "400" `template.test-values-refused` for values that are not JSON, too large, or have the name of a secret */
export function assertTestValues(values: TemplateFields['testValues']): void {
  if (values === null) return
  copyPlainVariables(values as Readonly<Record<string, TemplateValue>>)
  const text = JSON.stringify(values)
  const secret = text.match(/"(?:[^"\\]|\\.)*"(?=:)/g)?.find((name) => secretName.test(name))
  if (secret === undefined && text.length <= maxTestCharacters) return
  const name = secret === undefined ? '' : JSON.parse(secret)
  throw businessError('test-values-refused', {
    params: { name, max: maxTestCharacters },
    data: { field: 'testValues', name },
  })
}

/**
 * Compiles a template, and returns all columns of its next published version.
 *
 * @param unknownValues what happens to test values of variables that the template does not use
 * @throws BusinessError "400" `template.html-format`, `template.test-values-refused`, `template.test-values-unknown`;
 * errors of `Compiler.compile`
 */
export async function checkedSource(
  { subject, content, html, htmlFormat, attachments, testValues }: TemplateFields,
  locale: string,
  compiler: Pick<Compiler, 'compile'>,
  unknownValues: 'reject' | 'remove',
) {
  if ((html === null) !== (htmlFormat === null)) throw businessError('html-format', { data: { field: 'htmlFormat' } })
  assertTestValues(testValues)
  const compiled = await compiler.compile({ subject, content, html, htmlFormat, locale })
  assertPictures(compiled.html ?? [], attachments ?? [])
  const uses = findVariableUses([compiled.subject, compiled.content, compiled.html ?? []])
  const names = new Set([...uses.keys()].map((path) => path.split('.', 1)[0]))
  const values = Object.entries(testValues ?? {})
  const unknown = values.find(([name]) => !names.has(name.split('.', 1)[0]))
  if (unknown !== undefined && unknownValues === 'reject') {
    const [name] = unknown
    throw businessError('test-values-unknown', { params: { name }, data: { field: 'testValues', name } })
  }
  return {
    subject,
    content,
    html,
    htmlFormat,
    attachments: attachments === null ? null : [...attachments],
    testValues:
      testValues === null ? null : Object.fromEntries(values.filter(([name]) => names.has(name.split('.', 1)[0]))),
    compiled: JSON.stringify(compiled),
    variables: [...compiled.variables],
  }
}

/** Finds a complete `cid:` URL (RFC 2392) in an attribute. A URL with a variable refers to a file of the message. */
const pictureUrl = /=\s*["']cid:([^"']*)["']/gi

/** @throws BusinessError "400" `template.source-refused` if the HTML shows a file that the template does not contain */
function assertPictures(html: Program, attachments: readonly TemplateAttachment[]): void {
  const known = new Set(attachments.map(({ contentId }) => contentId))
  for (const step of html) {
    if (typeof step === 'object' && 'block' in step) {
      assertPictures(step.body, attachments)
      assertPictures(step.otherwise, attachments)
    }
    const texts = typeof step === 'string' ? step.matchAll(pictureUrl) : []
    for (const [, id = ''] of texts) {
      if (known.has(id)) continue
      const fault = { field: 'html', rule: 'picture-unknown', near: `cid:${id.slice(0, 116)}` }
      const params = { place: 'html', near: fault.near }
      throw businessError('source-refused', { text: 'rules.picture-unknown', params, data: { field: 'html', fault } })
    }
  }
}
