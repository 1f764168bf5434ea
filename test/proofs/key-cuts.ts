import type { RecordedChange } from '../recorded-changes/recorded-change.ts'

/**
 * Returns a change of the kernel after which a plugin reads the declared default of a key instead of the configured
 * value. All plugins read values through the kernel. The configuration itself still shows the configured value.
 * @param noticedBy test files that must fail
 * @param title title of the test that must fail; all tests run if omitted
 */
export function changeThatIgnoresKey(key: string, noticedBy: readonly string[], title?: string): RecordedChange {
  const isCut = `slot.key === ${JSON.stringify(key)}`
  return {
    file: 'kernel/src/configuration/slot.ts',
    fragment: 'readValue(slot.declaration, layer?.written)',
    replacement: `readValue(slot.declaration, ${isCut} ? slot.declaration.default : layer?.written)`,
    others: [
      {
        file: 'kernel/src/configuration/config-values.ts',
        fragment: 'return layer === slot.effective ?',
        replacement: `return ${isCut} || layer === slot.effective ?`,
      },
    ],
    effect: `${key} has no effect.`,
    breaks: [],
    noticedBy,
    ...(title === undefined ? {} : { only: [title] }),
  }
}
