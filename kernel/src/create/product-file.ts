/**
 * Returns the text of a product file with one more plugin, or `undefined` if its list of plugins is not one array of
 * names: then a person has to add it.
 *
 * @param path of the plugin, relative to the product file
 */
export function withPlugin(source: string, identifier: string, path: string): string | undefined {
  const [list, ...others] = source.matchAll(/^\s*plugins: \[([\w$.,\s]*)\]/gm)
  const lastImport = [...source.matchAll(/^(?:import |\} from )[^\n]*(['"])[^'"\n]+\1(;?)$/gm)].at(-1)
  if (list?.[1] === undefined || others.length > 0 || lastImport === undefined) return undefined
  const names = list[1].trimEnd()
  const lineBreak = list[1].slice(names.length)
  const separator = names === '' ? '' : lineBreak === '' ? ', ' : `,${/^\s*/.exec(names)?.[0] ?? ' '}`
  const added = `${names.replace(/,$/, '')}${separator}${identifier}${lineBreak === '' ? '' : `,${lineBreak}`}`
  const listEnd = list.index + list[0].length - 1
  const importEnd = lastImport.index + lastImport[0].length
  const [, quote = "'", semicolon = ''] = lastImport
  return [
    source.slice(0, importEnd),
    `\nimport ${identifier} from ${quote}${path}${quote}${semicolon}`,
    source.slice(importEnd, listEnd - list[1].length),
    added,
    source.slice(listEnd),
  ].join('')
}
