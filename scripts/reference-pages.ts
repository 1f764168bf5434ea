/** Writes the pages of the site that are not in the repository: the HTTP reference and the texts of all plugins. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ApiDocument, type DescribedOperation, payloadOf, type Schema } from '@plinth/http'
import product from '../examples/quickstart/plinth.config.ts'
import { code, page, table, textPage } from './plugin-pages.ts'

const docs = join(import.meta.dirname, '../docs')
const api: ApiDocument = JSON.parse(readFileSync(join(docs, 'openapi.json'), 'utf8'))

/** An operation with its method and path. */
type Operation = DescribedOperation & { readonly address: string }

/**
 * Writes the pages to `docs/reference/`.
 *
 * @returns the ids of the plugins that have a page of operations
 */
export function writeReferencePages(): readonly string[] {
  const operations = Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(
      ([method, operation]): Operation => ({ ...operation, address: `${method.toUpperCase()} ${path}` }),
    ),
  )
  const byPlugin = Map.groupBy(operations, (operation) => operation['x-plugin'])
  const plugins = [...byPlugin.keys()].filter((plugin) => !plugin.startsWith('example.')).sort()
  mkdirSync(join(docs, 'reference/http-api'), { recursive: true })
  const write = (name: string, text: string) => writeFileSync(join(docs, 'reference', `${name}.md`), text)
  for (const plugin of plugins) {
    const about = `Operations of the plugin \`${plugin}\`. [HTTP API](index.md) describes what all operations have in common.`
    const sections = byPlugin.get(plugin)?.map(operationSection) ?? []
    write(`http-api/${plugin}`, page(`HTTP API: ${plugin}`, about, sections))
  }
  write('http-api/index', overview(plugins))
  write('texts', textPage(product))
  return plugins
}

const overview = (plugins: readonly string[]) =>
  page(
    'HTTP API',
    `Each product serves the reference of its own operations at \`/docs\`. These pages contain the operations of the plugins in this
repository, without the examples. [openapi.json](/openapi.json) is the OpenAPI document of the quickstart.`,
    [[api.info.description, ''], plugins.map((plugin) => `- [${plugin}](${plugin}.md)`), ['']],
  )

function operationSection(operation: Operation): readonly string[] {
  const { address, summary, description = '', deprecated, security, parameters = [], requestBody } = operation
  const { 'x-permission': permission, 'x-data-scope': scope, 'x-reasons': reasons } = operation
  const callers = security.map((way) => Object.keys(way).map(code).join(' with ')).join(' or ')
  const inputs = [
    ...parameters.map(({ name, in: place, required: isRequired, schema, description }) => ({
      ...fieldOf(name, { ...schema, ...(description === undefined ? {} : { description }) }, isRequired),
      place,
    })),
    ...fieldsOf(Object.values(requestBody?.content ?? {})[0]?.schema).map((field) => ({ ...field, place: 'body' })),
  ]
  const payload = payloadOf(operation)
  const mediaTypes = Object.keys(operation.responses['200']?.content ?? {})
  const facts = [
    `Authentication: ${callers || 'none'}.`,
    permission === undefined ? '' : `Permission: ${code(permission)}.`,
    scope === undefined ? '' : `Data scope: ${code(scope)}.`,
    payload === undefined
      ? `Response: ${mediaTypes.map(code).join(' or ')}.`
      : `Result in \`data\`: ${typeOf(payload)}.`,
  ]
  // A description that begins with the summary repeats the summary, the permission and the data scope.
  const texts = [
    `${code(address)}${deprecated === true ? ' (deprecated)' : ''}`,
    description.startsWith(summary) ? '' : description,
    facts.filter(Boolean).join(' '),
  ]
  const codes = Object.entries(reasons).map(([reason, status]) => `${code(reason)} (${status})`)
  return [
    `## ${summary}`,
    '',
    ...texts.filter(Boolean).flatMap((text) => [text, '']),
    ...table(
      ['Input', 'Type', 'Meaning'],
      inputs.map(({ name, place, type, meaning, isRequired }) => [
        `${code(name)} (${place})`,
        type,
        isRequired ? `Required. ${meaning}` : meaning,
      ]),
    ),
    ...table(
      ['Member of `data`', 'Type', 'Meaning'],
      fieldsOf(payload).map(({ name, type, meaning }) => [code(name), type, meaning]),
    ),
    ...(codes.length === 0 ? [] : [`Errors: ${codes.join(', ')}.`, '']),
  ]
}

interface Field {
  readonly name: string
  readonly type: string
  readonly meaning: string
  readonly isRequired: boolean
}

function fieldOf(name: string, schema: Schema, isRequired: boolean): Field {
  const { title, description = title && `${title}.` } = resolved(schema)
  return { name, type: typeOf(schema), meaning: description ?? '', isRequired }
}

/** Returns the members of a schema and of the schemas in it, with their path as the name. */
function fieldsOf(schema: Schema | undefined): readonly Field[] {
  return schema === undefined
    ? []
    : [...new Map(membersOf(schema, '', []).map((field) => [field.name, field])).values()]
}

/** @param outer references that contain the schema. A schema can contain itself. */
function membersOf(schema: Schema, path: string, outer: readonly string[]): readonly Field[] {
  const { $ref, properties = {}, required = [], items, anyOf = [], oneOf = [], allOf = [] } = resolved(schema)
  if ($ref !== undefined && outer.includes($ref)) return []
  const inner = $ref === undefined ? outer : [...outer, $ref]
  return [
    ...Object.entries(properties).flatMap(([key, member]) => {
      const name = path === '' ? key : `${path}.${key}`
      return [fieldOf(name, member, required.includes(key)), ...membersOf(member, name, inner)]
    }),
    ...(items === undefined ? [] : membersOf(items, `${path}[]`, inner)),
    ...[...anyOf, ...oneOf, ...allOf].flatMap((part) => membersOf(part, path, inner)),
  ]
}

function typeOf(schema: Schema): string {
  const { anyOf, oneOf, enum: values, items, type = 'any', format, const: value } = resolved(schema)
  const choices =
    (anyOf ?? oneOf)?.map(typeOf) ?? (value === undefined ? values : [value])?.map((one) => code(`${one}`))
  if (choices !== undefined) return [...new Set(choices)].join(' or ')
  if (items !== undefined) return `list of ${typeOf(items)}`
  const types = [type].flat().join(' or ')
  return format === undefined ? types : `${types} (${format})`
}

/** Returns a schema with the keywords of the component that it refers to. */
const resolved = (schema: Schema): Schema => ({
  ...api.components.schemas[schema.$ref?.split('/').at(-1) ?? ''],
  ...schema,
})
