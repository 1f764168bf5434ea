type Rules = readonly (readonly [from: RegExp, to: string])[]

/** Rules for the paths in manifests: TypeScript sources in this repository, JavaScript and .d.ts of the build in published packages. */
export const manifestRules = {
  published: [
    [/"types": "\.\/src\/(.+?)\.ts"/g, '"types": "./dist/$1.d.ts"'],
    [/"default": "\.\/src\/(.+?)\.ts"/g, '"default": "./dist/$1.js"'],
  ],
  repository: [
    [/"types": "\.\/dist\/(.+?)\.d\.ts"/g, '"types": "./src/$1.ts"'],
    [/"default": "\.\/dist\/(.+?)\.js"/g, '"default": "./src/$1.ts"'],
  ],
} as const satisfies Readonly<Record<string, Rules>>

/** The text of a manifest with its paths written by the rules. */
export const withPaths = (manifest: string, rules: Rules): string =>
  rules.reduce((out, [from, to]) => out.replace(from, to), manifest)
