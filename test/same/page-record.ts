/** Records the pages of the back office as the console sends them. */
import { administrator } from '../fixtures/product-process.ts'
import { type Json, valueDifferences } from './record-differences.ts'
import { type Call, dataOf, signIn } from './recorded-product.ts'

const languages = ['en', 'zh-CN'] as const
type Language = (typeof languages)[number]

/** What a user sees: the navigation, the parts of the overview, and each page that the user may open, by name. */
type PageRecord = Readonly<Record<string, unknown>>

interface Navigation {
  readonly groups: readonly {
    readonly pages: readonly { readonly id: string; readonly details: readonly string[] }[]
  }[]
}

async function pagesOf(call: Call, language: Language): Promise<PageRecord> {
  const read = (path: string) => call('GET', `admin/console/${path}`, { headers: { 'accept-language': language } })
  const navigation: Navigation = await dataOf(read('pages'))
  const record: Record<string, unknown> = { navigation }
  for (const part of ['lookups', 'attention', 'charts']) record[part] = await dataOf(read(part))
  const ids = new Set(navigation.groups.flatMap(({ pages }) => pages.flatMap(({ id, details }) => [id, ...details])))
  // The loop also visits the ids that are added during the loop: pages refer to pages that are not in the navigation.
  for (const id of ids) {
    const response = await read(`pages/${id}`)
    if (response.code === '200') record[`page ${id}`] = response.data
    for (const [, other = ''] of response.text.matchAll(/"page":"([a-z0-9.-]+)"/g)) ids.add(other)
  }
  return record
}

/**
 * Returns the pages that the administrator, a user without permissions, and a user with each single permission see. For a single
 * permission, the record contains the differences from the page of the administrator in English.
 *
 * @returns the content of the files of the record by name
 */
export async function pageRecord(url: string): Promise<ReadonlyMap<string, unknown>> {
  const root = await signIn(url)
  if ((await root('GET', 'admin/console/pages')).code !== '200')
    return new Map([['pages.txt', 'The product has no back office.\n']])
  const permissions: readonly { readonly code: string }[] = await dataOf(root('GET', 'admin/iam/permissions'))
  const role = await dataOf(
    root('POST', 'admin/iam/roles', { body: { code: 'one', name: 'One', dataScope: 'all', permissions: [] } }),
  )
  const { password } = administrator
  await dataOf(root('POST', 'admin/iam/users', { body: { username: 'one', password, roleIds: [role.id] } }))
  const one = await signIn(url, 'one')
  const files = new Map<string, unknown>()
  for (const language of languages) {
    for (const [name, page] of Object.entries(await pagesOf(root, language)))
      files.set(`pages/${language}/${name.replace(' ', '/')}.json`, page)
    files.set(`pages/${language}/without-permissions.json`, await pagesOf(one, language))
  }
  const everything = await pagesOf(root, 'en')
  let { version } = role
  for (const { code } of permissions) {
    const change = { name: 'One', dataScope: 'all', permissions: [code], version }
    ;({ version } = await dataOf(root('PUT', `admin/iam/roles/${role.id}`, { body: change })))
    const seen = Object.entries(await pagesOf(one, 'en')).map(([name, part]) => [
      name,
      name.startsWith('page ') ? valueDifferences(everything[name] as Json, part as Json) : part,
    ])
    files.set(`pages/permissions/${code.replaceAll(':', '.')}.json`, Object.fromEntries(seen))
  }
  return files
}
