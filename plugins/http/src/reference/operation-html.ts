import { type ApiDocument, type DescribedOperation, type DescribedParameter, payloadOf } from '../openapi/document.ts'
import { htmlText } from '../pages/browser-page.ts'
import { type PageTexts, textWithCodeToHtml } from '../texts.ts'
import { fieldHtml, schemaHtml } from './schema-html.ts'

export interface ListedOperation {
  readonly path: string
  /** HTTP method in upper case. */
  readonly method: string
  readonly operation: DescribedOperation
}

export const operationsOf = ({ paths }: ApiDocument): ListedOperation[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  )

export const operationHeadHtml = ({ path, method, operation }: ListedOperation, { text }: PageTexts): string =>
  `<span class="method">${method}</span> <code>${htmlText(path).replaceAll('/', '/<wbr>')}</code> ` +
  `<span lang="en">${htmlText(operation.summary)}</span>` +
  `${operation.deprecated === true ? ` <strong>${text('deprecated')}</strong>` : ''}`

const part = (title: string, content: string) => (content === '' ? '' : `<h3>${title}</h3>${content}`)

const jsonHtml = (value: unknown) => `<pre>${htmlText(JSON.stringify(value, null, 2))}</pre>`

/** Returns the description of an operation as HTML, with an example request and a form for test calls. */
export function operationHtml(listed: ListedOperation, server: string, texts: PageTexts): string {
  const { operation } = listed
  const { description = '', parameters = [], requestBody, responses } = operation
  const { text } = texts
  const payload = payloadOf(operation)
  const fields = parameters.map(({ name, required: isRequired, schema, description }) =>
    fieldHtml(name, schema, { isRequired, description }, texts),
  )
  const body = Object.values(requestBody?.content ?? {})[0]
  const response = responses['200']?.content['application/json']?.example
  return [
    '<article>',
    ...description.split('\n\n').map((paragraph) => `<p lang="en">${textWithCodeToHtml(paragraph)}</p>`),
    part(text('parameters'), fields.length === 0 ? '' : `<ul class="fields">${fields.join('')}</ul>`),
    part(text('body'), body?.schema === undefined ? '' : schemaHtml(body.schema, texts)),
    part(text('response'), payload === undefined ? '' : schemaHtml(payload, texts)),
    response === undefined ? '' : jsonHtml(response),
    part(text('reasons'), reasonsHtml(operation, texts)),
    part(text('request'), `<pre>${htmlText(curlOf(listed, server))}</pre>`),
    part(text('try'), formHtml(listed, texts)),
    '</article>',
  ].join('')
}

function reasonsHtml({ 'x-reasons': reasons }: DescribedOperation, { reason }: PageTexts): string {
  const rows = Object.entries(reasons).map(
    ([name, code]) => `<dt><code>${htmlText(name)}</code> (${htmlText(code)})</dt><dd>${htmlText(reason(name))}</dd>`,
  )
  return rows.length === 0 ? '' : `<dl>${rows.join('')}</dl>`
}

const bodyExample = ({ requestBody }: DescribedOperation): unknown =>
  Object.values(requestBody?.content ?? {})[0]?.example

/** Quotes text for a Unix shell. */
const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

function curlOf({ path, method, operation }: ListedOperation, server: string): string {
  const { parameters = [], requestBody, security } = operation
  const required = parameters.filter((parameter) => parameter.required)
  const examplePath = required.reduce(
    (filledPath, parameter) =>
      parameter.in === 'path'
        ? filledPath.replace(`{${parameter.name}}`, encodeURIComponent(String(parameter.example ?? parameter.name)))
        : filledPath,
    path,
  )
  const query = new URLSearchParams(
    required
      .filter((parameter) => parameter.in === 'query')
      .map(({ name, example }): [string, string] => [name, String(example ?? '')]),
  ).toString()
  const address = `${server}${examplePath}${query === '' ? '' : `?${query}`}`
  return [
    `curl -X ${method} ${quoted(address)}`,
    ...(security.some((way) => 'bearer' in way) ? [`-H 'Authorization: Bearer TOKEN'`] : []),
    ...(requestBody === undefined
      ? []
      : [`-H 'Content-Type: application/json'`, `-d ${quoted(JSON.stringify(bodyExample(operation)))}`]),
  ].join(' \\\n  ')
}

function formHtml({ path, method, operation }: ListedOperation, { text }: PageTexts): string {
  const { operationId, parameters = [], requestBody } = operation
  const id = (name: string) => htmlText(`${operationId}-${name}`)
  const fields = parameters.map((one) => fieldOf(one, id(`${one.in}-${one.name}`)))
  const body =
    requestBody === undefined
      ? ''
      : `<label for="${id('body')}">${text('body')}</label><textarea id="${id('body')}" name="body" rows="8" ` +
        `spellcheck="false">${htmlText(JSON.stringify(bodyExample(operation) ?? {}, null, 2))}</textarea>`
  return [
    `<form class="try" data-method="${method}" data-path="${htmlText(path)}">`,
    ...fields,
    body,
    `<button>${text('send')}</button><output></output></form>`,
  ].join('')
}

function fieldOf({ name, in: place, required, schema, example }: DescribedParameter, id: string): string {
  const value = required ? String(example ?? '') : ''
  const facts = `data-in="${place}" data-name="${htmlText(name)}"${schema['type'] === 'array' ? ' data-list' : ''}`
  return (
    `<label for="${id}">${htmlText(name)}</label>` +
    `<input id="${id}" ${facts} value="${htmlText(value)}"${required ? ' required' : ''} autocomplete="off">`
  )
}
