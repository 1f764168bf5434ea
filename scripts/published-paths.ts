type Rules = readonly (readonly [from: RegExp, to: string])[]

/**
 * Rules that change the paths in manifests. In this repository they refer to TypeScript sources, and in published
 * packages to the JavaScript and .d.ts files of the build.
 */
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

/** Returns the text of a manifest after applying the rules to its paths. */
export const withPaths = (manifest: string, rules: Rules): string =>
  rules.reduce((out, [from, to]) => out.replace(from, to), manifest)
