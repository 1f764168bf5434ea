/** Tests the groups of the navigation: those of the product, and those that plugins declare. */
import { adminPages, type OwnPageGroup, pageGroups } from '@plinth/admin'
import { findShapeProblems } from '@plinth/kernel/host'
import t from 'tap'
import { groupProblems, isInGroup, navigationGroups } from '../src/admin/page-groups.ts'

const support: OwnPageGroup = {
  id: 'acme.support',
  title: { en: 'Support', 'zh-CN': '客服' },
  icon: 'lifebuoy',
  order: 150,
}
const pageIn = (id: string, group: OwnPageGroup | (typeof pageGroups)[number]) => ({ id, place: { group, order: 1 } })

t.test('a group of a plugin is at its position between the groups of the product', async (t) => {
  const pages = [pageIn('acme.tickets', support), pageIn('acme.answers', support), {}]
  const groups = navigationGroups(pages)
  t.strictSame(
    groups.map(({ id }) => id),
    ['orders', 'acme.support', ...pageGroups.slice(1)],
  )
  const [, own] = groups
  t.strictSame(own, support)
  if (own !== undefined) {
    t.equal(isInGroup(pageIn('acme.tickets', support), own), true)
    t.equal(isInGroup(pageIn('acme.tickets', 'orders'), own), false)
  }
})

t.test('two groups with one id, and a group with an id of the product, are problems', async (t) => {
  t.strictSame(groupProblems([pageIn('a', support), pageIn('b', { ...support }), pageIn('c', 'product')]), [])
  t.strictSame(groupProblems([pageIn('a', support), pageIn('b', { ...support, order: 7 })]), [
    'page "b": its group "acme.support" differs from that of the page "a"',
  ])
  t.strictSame(groupProblems([pageIn('a', { ...support, id: 'orders' })]), [
    'page "a": the product has a group "orders": write its id, or choose another one',
  ])
})

t.test('a page with an unknown group is rejected, and the message lists the possible values', async (t) => {
  const page = { kind: 'frame', id: 'acme.map', title: support.title, source: 'getMap', script: 'x' }
  const problemsOf = (group: unknown) =>
    findShapeProblems(adminPages.shape ?? {}, { ...page, place: { group, order: 1 } }).map(({ path }) => path)
  t.strictSame(problemsOf('orders'), [])
  t.strictSame(problemsOf(support), [])
  t.strictSame(problemsOf('support'), ['place.group'])
  t.strictSame(problemsOf({ ...support, icon: 'unicorn' }), ['place.group.icon'])
  t.strictSame(problemsOf({ id: 'acme.support', title: support.title, icon: 'map' }), ['place.group.order'])
})
