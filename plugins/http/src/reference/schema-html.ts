import type { Schema } from '../openapi/document.ts'
import { htmlText } from '../pages/browser-page.ts'
import { type PageTexts, textWithCodeToHtml } from '../texts.ts'

const componentOf = ($ref: string) => $ref.split('/').at(-1) ?? ''

/** Returns a type as short HTML text with links to named schemas. */
function typeHtml(schema: Schema, texts: PageTexts): string {
  const { link, text } = texts
  const inner = (one: Schema): string => typeHtml(one, texts)
  const { $ref, anyOf, oneOf, items, type, format } = schema
  if ($ref !== undefined) {
    const name = componentOf($ref)
    return `<a href="${link(`schemas/${encodeURIComponent(name)}`)}">${htmlText(name)}</a>`
  }
  const choices = anyOf ?? oneOf
  if (choices !== undefined) return [...new Set(choices.map(inner))].join(' | ')
  if ('const' in schema) return `<code>${htmlText(JSON.stringify(schema['const']))}</code>`
  if (schema.enum !== undefined)
    return schema.enum.map((one) => `<code>${htmlText(JSON.stringify(one))}</code>`).join(' | ')
  if (items !== undefined) return `${text('list-of')} ${inner(items)}`
  const types = [type ?? 'any'].flat().join(' | ')
  return htmlText(format === undefined ? types : `${types} (${String(format)})`)
}

const titleOf = (schema: Schema, { locale }: PageTexts) => schema['x-title']?.[locale] ?? schema.title

/** Returns a list item for a field. A description that repeats the title is omitted. */
export function fieldHtml(
  name: string,
  schema: Schema,
  facts: { readonly isRequired: boolean; readonly description?: string | undefined },
  texts: PageTexts,
): string {
  const title = titleOf(schema, texts)
  const { description = schema.description } = facts
  const isNew = description !== undefined && description !== `${schema.title}.`
  return [
    `<li><code>${htmlText(name)}</code> <span class="type">${typeHtml(schema, texts)}`,
    facts.isRequired ? `, ${texts.text('required')}</span>` : '</span>',
    title === undefined ? '' : ` <span>${htmlText(title)}</span>`,
    isNew ? ` <span lang="en">${textWithCodeToHtml(description)}</span>` : '',
    membersHtml(schema, texts),
    '</li>',
  ].join('')
}

/** Returns the members of inline objects; empty if there are none. */
function membersHtml(schema: Schema, texts: PageTexts): string {
  const { properties, required = [], items } = schema
  const parts = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])]
  const fields = Object.entries(properties ?? {}).map(([name, member]) =>
    fieldHtml(name, member, { isRequired: required.includes(name) }, texts),
  )
  const own = fields.length === 0 ? '' : `<ul class="fields">${fields.join('')}</ul>`
  return [own, ...[items ?? [], parts].flat().map((one) => membersHtml(one, texts))].join('')
}

export const schemaHtml = (schema: Schema, texts: PageTexts): string =>
  `<p class="type">${typeHtml(schema, texts)}</p>${membersHtml(schema, texts)}`
