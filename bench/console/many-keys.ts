import { definePlugin, key, type Plugin } from '@plinth/kernel'

const groups = 20

/** Declares keys of the kinds that plugins use most, each in turn. */
const kinds = [
  (title: string) => key.string({ title, description: `Text of ${title}.`, default: 'example', reload: 'live' }),
  (title: string) => key.integer({ title, default: 10, minimum: 1, maximum: 1_000, reload: 'live' }),
  (title: string) => key.duration({ title, default: '1m', minimum: '1s', maximum: '1d', reload: 'live' }),
  (title: string) => key.boolean({ title, description: `Turns ${title} on.`, default: false }),
  (title: string) => key.enum({ title, values: ['slow', 'medium', 'fast'], default: 'slow', reload: 'live' }),
  (title: string) => key.stringList({ title, default: ['first', 'second'], reload: 'live' }),
  (title: string) => key.string({ title, default: '', sensitive: true, reload: 'live' }),
] as const

/** Returns a plugin with a number of configuration keys in at most 20 groups. It does nothing else. */
export function manyKeysPlugin(count: number): Plugin {
  const entries = Array.from({ length: count }, (_, index) => {
    const declare = kinds[index % kinds.length] ?? kinds[0]
    return [
      `platform.bench-${index % groups}.part-${index % 7}.value-${index}`,
      declare(`Bench value ${index}`),
    ] as const
  })
  return definePlugin({
    id: 'bench',
    version: '1.0.0',
    kernel: '^1.0.0',
    configGroups: Object.fromEntries(
      Array.from({ length: Math.min(groups, count) }, (_, index) => [
        `bench-${index}`,
        { en: `Bench ${index}`, 'zh-CN': `基准 ${index}` },
      ]),
    ),
    config: Object.fromEntries(entries),
    setup() {},
  })
}
