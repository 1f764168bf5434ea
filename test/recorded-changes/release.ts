import type { RecordedChange } from './recorded-change.ts'

export const release: readonly RecordedChange[] = [
  {
    file: 'scripts/api-compat.ts',
    fragment: "diff -ru -x '*.js' -x '*.map' -x web",
    replacement: "diff -ru --include='*.d.ts'",
    effect: 'The printed commands of a release comparison do not run.',
    breaks: ['C-041'],
    noticedBy: ['test/release/release.test.ts'],
    only: ['C-041 the printed commands compare the previous release with the build'],
  },
  {
    file: 'scripts/api-compat.ts',
    fragment:
      "if (module === undefined) problems.push({ kind: 'binary', module: name, detail: 'the package is gone' })",
    replacement: 'if (module === undefined) continue',
    effect: 'A package that left the repository passes the release check.',
    breaks: ['C-043'],
    noticedBy: ['test/release/release.test.ts'],
  },
  {
    file: 'scripts/release.ts',
    fragment: '[...new Set([...publishedNames(root), ...modules.map(({ name }) => name)])]',
    replacement: '[...new Set([...publishedNames(root).slice(0, 0), ...modules.map(({ name }) => name)])]',
    effect: 'The previous release of a package that left the repository is not fetched.',
    breaks: [],
    noticedBy: ['test/release/release.test.ts'],
    only: ['C-043 a comparison that cannot be made fails with one sentence'],
  },
  {
    file: 'scripts/api-compat.ts',
    fragment: `  if (found === 0) throw new ReleaseError(\`No package has a release \${version}. Check --previous-version.\`)
`,
    replacement: '',
    effect: 'The release check passes with a mistyped version.',
    breaks: ['C-043'],
    noticedBy: ['test/release/release.test.ts'],
    only: ['C-043 a comparison that cannot be made fails with one sentence'],
  },
  {
    file: 'plugins/http/src/openapi/openapi-changes.ts',
    fragment: `    this.#mediaTypes(responseOf(before), responseOf(after), \`\${name}: answer\`)
`,
    replacement: '',
    effect: 'A response that becomes a file passes the release check.',
    breaks: ['C-031', 'C-047'],
    noticedBy: ['plugins/http/test/release-check.test.ts'],
  },
  {
    file: 'plugins/http/src/openapi/openapi-changes.ts',
    fragment: `      this.changes.push(\`\${place} declares no members any more\`)`,
    replacement: '      this.changes.push(...[])',
    effect: 'A response that becomes a free-form object passes the release check.',
    breaks: ['C-031', 'C-047'],
    noticedBy: ['plugins/http/test/release-check.test.ts'],
  },
  {
    file: 'plugins/http/src/openapi/openapi-changes.ts',
    fragment:
      "if (use === 'request' && 'default' in before && !isDeepStrictEqual(before['default'], after['default']))",
    replacement:
      "if (use === 'request' && 'default' in before && !isDeepStrictEqual(before['default'], before['default']))",
    effect: 'Another default of a parameter passes the release check.',
    breaks: ['C-031', 'C-047'],
    noticedBy: ['plugins/http/test/release-check.test.ts'],
  },
  {
    file: 'plugins/http/src/openapi/openapi-changes.ts',
    fragment: "if (parameter === 'query page' && was['minimum'] !== is['minimum'])",
    replacement: "if (parameter === 'query pages' && was['minimum'] !== is['minimum'])",
    effect: 'Pages that are counted from 0 pass the release check.',
    breaks: ['C-031', 'C-047'],
    noticedBy: ['plugins/http/test/release-check.test.ts'],
  },
  {
    file: 'plugins/http/src/openapi/openapi-changes.ts',
    fragment: `      if (after[reason] === undefined) this.changes.push(\`reason \${reason} is gone\`)
      else if`,
    replacement: '      if',
    effect: 'A reason of errors that is gone passes the release check.',
    breaks: ['C-031', 'C-047'],
    noticedBy: ['plugins/http/test/release-check.test.ts'],
  },
  {
    file: 'scripts/api-compat.ts',
    fragment: `        throw new ReleaseError(\`\${name} is not built: \${file} is missing. Run npm run build.\`)`,
    replacement: `        throw new Error(\`\${name} is not built: \${file} is missing. Run npm run build.\`)`,
    effect: 'The release check of packages that are not built ends with a stack.',
    breaks: ['C-043'],
    noticedBy: ['test/release/release.test.ts'],
    only: ['C-043 a comparison that cannot be made fails with one sentence'],
  },
  {
    file: 'scripts/api-compat.ts',
    fragment: `  return [...statics, ...methods.map((name) => \`prototype.\${name}\`)]`,
    replacement: '  return [statics, methods].flatMap(() => [])',
    effect: 'A method that an exported class lost passes the release check.',
    breaks: ['C-043'],
    noticedBy: ['test/release/release.test.ts'],
  },
  {
    file: 'scripts/api-compat.ts',
    fragment: '(?:\\bfrom|\\bimport\\()\\s*',
    replacement: '(?:\\bfrom)\\s*',
    effect: 'Declarations behind an inline import are not compared.',
    breaks: ['C-043'],
    noticedBy: ['test/release/release.test.ts'],
  },
  {
    file: 'scripts/pack-exports.mjs',
    fragment: "const missing = process.argv[2] === 'on' && ",
    replacement: "const missing = process.argv[2] === 'of' && ",
    effect: 'A package that is not built is packed empty.',
    breaks: [],
    noticedBy: ['test/release/release.test.ts'],
    only: ['a package that is not built cannot be packed'],
  },
]
