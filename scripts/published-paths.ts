/**
 * Returns the text of a manifest with the paths of a published package. In this repository, manifests refer to TypeScript sources, and in
 * published packages to the JavaScript and .d.ts files of the build.
 */
export const publishedPaths = (manifest: string): string =>
  manifest
    .replace(/"types": "\.\/src\/(.+?)\.ts"/g, '"types": "./dist/$1.d.ts"')
    .replace(/"default": "\.\/src\/(.+?)\.ts"/g, '"default": "./dist/$1.js"')
